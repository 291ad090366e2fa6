package import Dispatch
import EventLoop
package import LinuxSystem
package import PacketIO
package import TunnelCrypto

/// Carries the packets of one tunnel between its TUN device and its UDP sockets.
///
/// Lives on a serial queue of its own, which it may keep busy for a millisecond at a time. It holds the sessions, and the
/// packets that wait for one; handshakes, timers and peers belong to another queue, which posts `LoopCommand`s and is told
/// `LoopNotice`s. Idle, it costs no wake-up.
///
/// A Dispatch event costs two thread switches, so a handler once called stays while there is traffic: it waits a
/// millisecond itself before it returns. Source: data-path-notes, section 4.
package actor PacketLoop {
    /// Rounds after which the queue is given back, so that what else waits on it gets its turn.
    private static let rounds = 256
    private static let lingerMilliseconds: Int32 = 1

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    private nonisolated let executor: QueueExecutor
    private nonisolated let mailbox: LoopMailbox
    private nonisolated let state: LoopState
    private let engine: PacketLoopEngine
    private let epoll: Epoll
    private var source: DescriptorSource?

    /// Prepares a loop, which carries nothing until `start`.
    ///
    /// - Parameters:
    ///   - ciphers: the libraries that may encrypt; libcrypto does where no other may or can.
    ///   - noticeQueue: where `handler` is called, with all notices since its last call.
    /// - Throws: where epoll or an eventfd can't be had.
    package init(
        device: sending TunDevice,
        v4: sending UDPSocket?,
        v6: sending UDPSocket?,
        mtu: Int,
        ciphers: Set<CipherEngine.BackEnd> = Set(CipherEngine.BackEnd.allCases),
        noticeQueue: DispatchQueue,
        handler: @escaping @Sendable ([LoopNotice]) -> Void
    ) throws(SystemError) {
        executor = QueueExecutor(label: "packets")
        mailbox = try LoopMailbox()
        state = LoopState()
        epoll = try Epoll()
        engine = PacketLoopEngine(
            device: device,
            v4: v4,
            v6: v6,
            mtu: mtu,
            ciphers: ciphers,
            notices: NoticeBox(queue: noticeQueue, handler: handler),
            state: state
        )
    }

    /// What was dropped and why, up to the latest batch; from any thread.
    package nonisolated var counters: LoopCounters { state.counters }

    /// The offloads in use, up to the latest batch; from any thread.
    package nonisolated var abilities: LoopAbilities { state.abilities }

    /// Tells the loop something; from any thread, and never waits.
    package nonisolated func post(_ commands: LoopCommand...) { mailbox.post(commands) }

    /// The same for a list.
    package nonisolated func post(_ commands: [LoopCommand]) { mailbox.post(commands) }

    /// Begins carrying packets.
    package func start() throws(SystemError) {
        guard source == nil else { return }
        try epoll.add(mailbox.descriptor.raw, for: .readable, token: Token.mailbox)
        try engine.watch(in: epoll)
        let source = DescriptorSource(epoll.descriptor, .readable, canHangUp: false, on: executor.queue) {
            @Sendable [weak self] in
            self?.assumeIsolated { $0.serve() }
        }
        self.source = source
        source.resume()
    }

    /// Ends carrying packets; the keys are wiped.
    package nonisolated func stop() async {
        mailbox.wake()
        await finish()
    }

    private func finish() {
        source?.cancel()
        source = nil
        engine.forgetAll()
    }

    /// Serves whatever is ready, until there has been nothing for a while or other work waits.
    private func serve() {
        for _ in 0..<PacketLoop.rounds {
            guard let ready = engine.wait(in: epoll, milliseconds: PacketLoop.lingerMilliseconds) else { return }
            if ready.contains(.mailbox) {
                for command in mailbox.take() { engine.obey(command, epoll) }
            }
            engine.serve(ready, epoll)
            if ready.contains(.mailbox) { return }
        }
    }
}
