package import LinuxSystem

/// What happened to a server that its operator may want to know; the server goes on.
package enum ServerIncident: Sendable {
    /// No connection can be accepted for want of a resource (descriptors, memory); those that wait go on waiting.
    case acceptingPaused(SystemError)
    case acceptingResumed
    case connectionRefused(PeerCredentials, reason: String)
    /// A client broke the protocol or a limit and was disconnected.
    case clientDropped(PeerCredentials, reason: String)
}

extension ServerIncident {
    /// The same for incidents of one kind with one user's clients, however their reasons differ.
    package var topic: String {
        switch self {
        case .acceptingPaused: "accepting paused"
        case .acceptingResumed: "accepting resumed"
        case .connectionRefused(let peer, _): "refused \(peer.user)"
        case .clientDropped(let peer, _): "dropped \(peer.user)"
        }
    }
}

extension ServerIncident: CustomStringConvertible {
    package var description: String {
        switch self {
        case .acceptingPaused(let error): "Cannot accept connections (\(error)); trying again every second."
        case .acceptingResumed: "Accepting connections again."
        case .connectionRefused(let peer, let reason): "Refused process \(peer.process) of user \(peer.user): \(reason)"
        case .clientDropped(let peer, let reason):
            "Disconnected process \(peer.process) of user \(peer.user): \(reason)"
        }
    }
}
