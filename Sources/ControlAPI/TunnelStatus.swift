/// The state of a tunnel, with Apple's names and numbers (`NEVPNStatus`; design, section 3).
package enum TunnelStatus: String, Codable, Sendable, CaseIterable {
    /// No such configuration is stored.
    case invalid
    case disconnected
    /// Not yet answered by a peer.
    case connecting
    /// A peer has answered; or, without any peer to call, the tunnel is ready to be called.
    case connected
    /// It was connected and is being brought back: the peers are silent, the provider or the path was lost.
    case reasserting
    case disconnecting

    /// The raw value of `NEVPNStatus`.
    package var number: Int {
        switch self {
        case .invalid: 0
        case .disconnected: 1
        case .connecting: 2
        case .connected: 3
        case .reasserting: 4
        case .disconnecting: 5
        }
    }
}

/// How far a start has come; each stage includes those before it.
package enum StartStage: String, Codable, Sendable, CaseIterable, Comparable {
    case launching
    case providerStarted
    case settingsApplied
    case handshakeSent
    case answered

    package static func < (a: StartStage, b: StartStage) -> Bool { a.order < b.order }

    private var order: Int { StartStage.allCases.firstIndex(of: self) ?? 0 }
}
