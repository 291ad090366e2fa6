import ControlAPI
import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes
import VarlinkCore
import VarlinkSocket

/// Runs one tunnel for whoever controls it: the provider's sockets on one side, the `TunnelProvider` on the other.
///
/// Everything is on the control queue. That a controller goes away changes nothing for the tunnel.
actor ProviderHost<Tunnel: TunnelProvider> {
    nonisolated let executor: QueueExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    nonisolated let tunnel: Tunnel
    var seat: ControllerSeat
    var vault = DescriptorVault()
    var requests = RequestBook<ProviderLink.Completion>()
    var isStarted = false
    // A Dispatch timer wakes its thread every second until it fires; these don't.
    private var patienceTimer: BootTimer?
    private var trimTimer: BootTimer?
    /// Where the present controller's `Attach` is answered.
    var reports: Responder?
    private let link: ProviderLink
    private let server: VarlinkServer
    let controlDoor: ControlDoor
    let descriptorDoor: DescriptorDoor
    private var pacing = ReportPacing()
    private var isReportScheduled = false
    private let end: @Sendable (Int32) -> Void

    /// How long to wait for the first successful `Start`: nobody may know of the process any more.
    private let patience: Interval
    /// How long after the last call the memory is given back that only calls need.
    static var trimDelay: Interval { .seconds(5) }
    /// While more than this waits for the controller to read, the next report waits too.
    static var unreadReports: Int { 256 << 10 }

    /// - Parameters:
    ///   - patience: after it the process ends where no `Start` has succeeded.
    ///   - end: ends the process with an exit status; called on any thread.
    init(
        nonce: String,
        patience: Interval,
        executor: QueueExecutor,
        server: VarlinkServer,
        controlDoor: sending ControlDoor,
        descriptorDoor: sending DescriptorDoor,
        end: @escaping @Sendable (Int32) -> Void
    ) {
        self.executor = executor
        self.server = server
        self.controlDoor = controlDoor
        self.descriptorDoor = descriptorDoor
        self.end = end
        self.patience = patience
        seat = ControllerSeat(nonce: nonce)
        link = ProviderLink(executor: executor)
        tunnel = Tunnel(link: link)
    }

    /// Opens the doors.
    func begin() throws(SystemError) {
        patienceTimer = try BootTimer(on: executor.queue) { @Sendable [weak self] in
            self?.assumeIsolated { if !$0.isStarted { $0.finish(1) } }
        }
        patienceTimer?.set(.now() + patience)
        // Without /proc the memory stays as it is.
        trimTimer = try BootTimer(on: executor.queue) { @Sendable in try? ResidentMemory.releaseFilePages() }
        link.connect { @Sendable [weak self] signal in self?.assumeIsolated { $0.take(signal) } }
        try controlDoor.open(on: executor.queue) { @Sendable [weak self] in
            self?.assumeIsolated { $0.controlDoor.accept() }
        }
        try descriptorDoor.open(on: executor.queue) { @Sendable [weak self] in
            self?.assumeIsolated { $0.receiveDescriptors() }
        }
    }

    /// Somebody who isn't the controller, the service manager, ends the process.
    func terminate(reason: String) { tunnel.assumeIsolated { $0.stop(reason: reason) } }

    /// Takes note of a call by the controller.
    func noteCall() {
        guard isStarted else { return }
        patienceTimer?.set(nil)
        trimTimer?.set(.now() + Self.trimDelay)
    }

    // MARK: Descriptors

    func receiveDescriptors() {
        let newcomers = descriptorDoor.receive { label, descriptor, process in
            vault.keep(descriptor, label: label, from: process)
        }
        if let holder = seat.holder, newcomers.contains(holder) { handDescriptors(to: holder) }
    }

    /// Gives the controller what it shall hold duplicates of.
    func handDescriptors(to process: ControllerSeat.ProcessIdentifier) {
        for (label, descriptor) in tunnel.assumeIsolated({ $0.descriptors() }) {
            descriptorDoor.send(descriptor, label: label, to: process)
        }
    }

    // MARK: What the tunnel signals

    private func take(_ signal: ProviderLink.Signal) {
        switch signal {
        case .stateChanged: changed()
        case .request(let kind, let name, let port, let completion):
            let request = requests.add(kind, name: name, port: port, context: completion)
            report(state: nil, request: request)
        case .descriptorsChanged:
            if let holder = seat.holder {
                executor.queue.async { @Sendable [weak self] in self?.assumeIsolated { $0.handDescriptors(to: holder) }
                }
            }
        case .ended: finishSoon(0)
        case .failed: finishSoon(1)
        }
    }

    /// Tells the state on, soon: never within the tunnel's own call, which may be half through a change.
    private func changed() {
        guard !isReportScheduled else { return }
        isReportScheduled = true
        let now = Instant.now()
        let delay = pacing.changed(now: now) ? 0 : max(0, ((pacing.deadline ?? now) - now).nanoseconds)
        executor.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay))) { @Sendable [weak self] in
            self?.assumeIsolated { host in
                host.isReportScheduled = false
                _ = host.pacing.expire(now: .now())
                host.reportState()
            }
        }
    }

    private func reportState() {
        guard let reports, reports.isConnected else { return }
        guard reports.queuedBytes <= Self.unreadReports else {
            Task { [weak self] in
                await reports.drained()
                await self?.changed()
            }
            return
        }
        report(state: currentState(), request: nil)
    }

    func currentState() -> ProviderState { tunnel.assumeIsolated { $0.state() } }

    func report(state: ProviderState?, request: ProviderRequest?) {
        let reply = ProviderCalls.AttachReply(version: ProviderCalls.version, state: state, request: request)
        // One that can't be sent is for a controller that is gone; the next one asks for everything.
        try? reports?.send(reply)
    }

    /// After the present call, which has yet to be answered.
    private func finishSoon(_ status: Int32) {
        executor.queue.async { @Sendable [weak self] in self?.assumeIsolated { $0.finish(status) } }
    }

    /// Ends the process once what was answered has left it.
    private func finish(_ status: Int32) {
        report(state: currentState(), request: nil)
        controlDoor.close()
        descriptorDoor.close()
        Task { [server, end] in
            // The replies are on the server's queue before this.
            _ = await server.connectionCount
            end(status)
        }
    }
}
