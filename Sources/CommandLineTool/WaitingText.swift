package import ControlAPI

/// What is told while a tunnel isn't connected: who doesn't answer, what was tried, what to check.
package enum WaitingText {
    /// So many peers are told one by one.
    private static let shownPeers = 3

    /// Why a tunnel isn't connected yet, and what to do.
    package struct Trouble: Equatable, Sendable {
        package let what: String
        /// Who doesn't answer, and what was tried.
        package let peers: [String]
        package let remedy: String?
    }

    package static func trouble(_ view: SessionView) -> Trouble {
        if let stage = view.stage, stage < .settingsApplied {
            return Trouble(what: "It isn't ready yet: \(StageText.of(stage)).", peers: [], remedy: nil)
        }
        let silent = view.peers.filter { $0.configuredEndpoint != nil && $0.state != .alive }
        let failure = view.failure ?? silent.lazy.compactMap(\.failure).first
        var peers = silent.prefix(shownPeers).map { peer in
            let attempts = "\(peer.attempts) \(peer.attempts == 1 ? "handshake" : "handshakes") sent"
            return "peer \(peer.publicKey): \(PeerText.endpoint(peer)), \(attempts)"
        }
        if silent.count > shownPeers { peers.append("and \(silent.count - shownPeers) more peers") }
        return Trouble(
            what: failure?.message ?? view.reason ?? "No peer has answered yet.",
            peers: peers,
            remedy: failure?.remedy ?? (silent.isEmpty ? nil : checks)
        )
    }

    /// Silence has many causes that look the same (design, section 3).
    private static let checks =
        "Check the endpoint's address and port, the peer's public key, that the peer knows our key, "
        + "and that no filter drops UDP on the way."

    /// One line that says that it works: who answered, or that peers may call.
    package static func connected(_ view: SessionView) -> StyledText {
        let via = view.interface.map { " on \($0)" } ?? ""
        guard let peer = view.peers.first(where: { $0.latestHandshake != nil }) else {
            return "\(view.name, .bold): \(SessionText.status(.connected))\(via), ready to be called by its peers"
        }
        return "\(view.name, .bold): \(SessionText.status(.connected))\(via), \(PeerText.endpoint(peer)) answered"
    }

    /// What of the configuration has no effect: its DNS, and what tunneld noted.
    package static func reservations(_ view: SessionView) -> [StyledText] {
        var lines = view.notesBesideDNS.map { StyledText("note: \($0)") }
        if let dns = view.dns, !dns.applied, !SessionText.dns(dns).isEmpty {
            lines.insert(StyledText(dns.note ?? "DNS not applied", .attention), at: 0)
        }
        return lines
    }
}
