import ControlAPI
import EventLoop
import LinuxSystem
import NetworkTypes
import VarlinkSocket

/// Keeps calls waiting until tunneld has gone on with the tunnels of the one before.
///
/// As a rule that takes milliseconds, and nobody sees it; a provider that hangs makes it take seconds.
actor StartGate {
    /// Shorter than clients wait for an answer.
    private let patience: Interval
    private var isOpen = false
    private var isServing = false
    private var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    private var lastWaiter = 0

    init(patience: Interval = .seconds(4)) { self.patience = patience }

    /// Begins to answer clients, unless that has begun: until then those that have connected wait.
    func serve(_ server: VarlinkServer, on listener: UnixListener) async {
        guard !isServing else { return }
        isServing = true
        await server.listen(on: listener)
    }

    func open() {
        isOpen = true
        for waiter in waiters.values { waiter.resume(returning: true) }
        waiters = [:]
    }

    /// Returns once tunneld is ready.
    ///
    /// - Throws: `unavailable` where that takes long.
    func pass() async throws(ControlError) {
        guard !isOpen else { return }
        lastWaiter += 1
        let number = lastWaiter
        let timer = Task { [patience] in
            guard (try? await Pause.sleep(for: patience)) != nil else { return }
            self.giveUp(number)
        }
        let isReady = await withCheckedContinuation { waiters[number] = $0 }
        timer.cancel()
        guard isReady else {
            throw ControlError(
                .unavailable,
                "tunneld is starting.",
                reason: "It is still taking over the tunnels that run; the provider of one of them doesn't answer.",
                remedy: "Try again in some seconds. Running tunnels go on meanwhile."
            )
        }
    }

    private func giveUp(_ number: Int) { waiters.removeValue(forKey: number)?.resume(returning: false) }
}
