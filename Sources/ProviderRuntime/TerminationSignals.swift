import Glibc

/// The signals by which a service manager ends a process, taken by one thread that waits for them.
struct TerminationSignals {
    private let set: sigset_t

    /// Blocks the signals for this thread and those that it makes.
    init() {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&set, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        self.set = set
    }

    /// Waits for one of them.
    ///
    /// - Returns: its name.
    func wait() -> String {
        var set = set
        var signal: Int32 = 0
        unsafe sigwait(&set, &signal)
        return switch signal {
        case SIGTERM: "SIGTERM"
        case SIGINT: "SIGINT"
        default: "SIGHUP"
        }
    }
}
