import Dispatch
import EventLoop
package import LinuxSystem
import VarlinkCore

/// Serves Varlink on Unix sockets, on one queue, for many clients, none of which is trusted.
///
/// A connection without traffic costs no wake-up. Calls of a connection are answered one after the other; those of
/// different connections don't wait for each other.
package actor VarlinkServer {
    typealias Acceptor = @Sendable (Int32) throws(SystemError) -> OwnedDescriptor?

    nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    let service: VarlinkService
    let limits: ServerLimits
    let report: @Sendable (ServerIncident) -> Void
    var listeners: [(listener: UnixListener, source: DescriptorSource)] = []
    var acceptingPaused = false
    /// Made before it is needed: Dispatch would open its own for want of descriptors too late.
    var resumeTimer: BootTimer?
    var connections: [UInt64: ServerConnection] = [:]
    var quota: UserQuota
    let acceptNext: Acceptor
    /// Clients get no descriptor with this number or a higher one.
    ///
    /// The kernel gives the lowest number that is free (open(2)), so the rest stays for the process itself. Without any,
    /// Dispatch ends it: its thread monitor can't open `/proc/self/task` then (`_dispatch_workq_monitor_pools`).
    private let descriptorCeiling: Int32
    private var lastIdentifier: UInt64 = 0
    /// All connections read into it.
    var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// Raise the process's limit of descriptors before (`DescriptorLimit`): a quarter of it, at most 256, stays out of the
    /// clients' reach.
    ///
    /// - Parameter report: is called on the server's queue and must not block.
    package init(
        _ service: VarlinkService,
        limits: ServerLimits = ServerLimits(),
        report: @escaping @Sendable (ServerIncident) -> Void = { _ in }
    ) {
        self.init(service, limits: limits, acceptor: UnixSocket.accept, report: report)
    }

    /// - Parameter acceptor: takes the next connection of a listening socket, as `UnixSocket.accept`.
    init(
        _ service: VarlinkService,
        limits: ServerLimits,
        acceptor: @escaping Acceptor,
        report: @escaping @Sendable (ServerIncident) -> Void
    ) {
        acceptNext = acceptor
        let descriptors = DescriptorLimit.current
        descriptorCeiling = Int32(clamping: descriptors - min(256, descriptors / 4))
        executor = QueueExecutor(label: "varlink-server")
        self.service = service
        self.limits = limits
        self.report = report
        quota = UserQuota(limits)
    }

    /// How many clients are connected.
    package var connectionCount: Int { connections.count }

    /// Serves whoever connects.
    package func listen(on listener: UnixListener) {
        let source = DescriptorSource(listener.descriptor, .readable, canHangUp: false, on: executor.queue) {
            @Sendable [weak self] in
            self?.assumeIsolated { $0.accept(on: listener) }
        }
        listeners.append((listener, source))
        if resumeTimer == nil {
            // Without one, accepting goes on as soon as a connection has closed.
            resumeTimer = try? BootTimer(on: executor.queue) { @Sendable [weak self] in
                self?.assumeIsolated { $0.resumeAccepting() }
            }
        }
        if !acceptingPaused { source.resume() }
    }

    /// Stops listening, removes the sockets' files and closes all connections.
    package func stop() {
        for (listener, source) in listeners {
            source.cancel()
            listener.removeFile()
        }
        listeners = []
        for identifier in Array(connections.keys) { disconnect(identifier) }
    }

    /// Takes a connected socket in.
    ///
    /// - Returns: its number, or nil if it was refused.
    @discardableResult
    package func serve(_ descriptor: SharedDescriptor) -> UInt64? {
        guard let caller = try? PeerCredentials(of: descriptor.raw) else { return nil }
        let stream = MessageStream(
            descriptor,
            messageLimit: limits.messageBytes,
            descriptorCeiling: descriptorCeiling
        )
        guard descriptor.raw < descriptorCeiling, connections.count < limits.connections, quota.admit(caller.user)
        else {
            refuse(stream, caller)
            return nil
        }
        lastIdentifier += 1
        let identifier = lastIdentifier
        let outlet = ReplyOutlet(
            limit: limits.outputBytes,
            lowWater: limits.pauseAtOutputBytes / 2,
            queue: executor.queue
        ) { @Sendable [weak self] event in
            self?.assumeIsolated { $0.take(event, from: identifier) }
        }
        connections[identifier] = ServerConnection(caller: caller, stream: stream, outlet: outlet)
        stream.activate(on: executor.queue) { @Sendable [weak self] in
            self?.assumeIsolated { $0.readable(identifier) }
        } writable: { @Sendable [weak self] in
            self?.assumeIsolated { $0.writable(identifier) }
        }
        return identifier
    }

    private func refuse(_ stream: MessageStream, _ caller: PeerCredentials) {
        let reason = "There are too many connections; close some and try again."
        stream.enqueue(VarlinkReply(.error(.limitExceeded(reason))).encoded())
        _ = try? stream.flush()
        stream.close()
        report(.connectionRefused(caller, reason: reason))
    }
}
