package import ControlAPI

/// What tunnelctl ends with (design, section 6).
package enum ExitCode: Int32, Sendable {
    case done = 0
    /// The reason stands on standard error, with the remedy.
    case failed = 1
    case wrongUsage = 2
    /// `up` after its wait, leaving the tunnel trying; `status --check`.
    case notConnected = 3
    case noSuchConfiguration = 4
    case noPermission = 5
    case tunneldNotRunning = 6
    /// Whoever read the output went away: what a shell says of a program that SIGPIPE ended (128 + 13).
    case outputClosed = 141

    package init(_ error: ControlError) {
        switch error.name {
        case .configurationUnknown: self = .noSuchConfiguration
        case .permissionDenied: self = .noPermission
        // What `DaemonClient` says when nobody listens, or when whoever did went away.
        case .notRunning, .unavailable: self = .tunneldNotRunning
        default: self = .failed
        }
    }
}
