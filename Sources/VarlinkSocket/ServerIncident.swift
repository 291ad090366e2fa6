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
