package import ControlAPI

/// What is told while a tunnel isn't connected: who doesn't answer, what was tried, what to check.
package enum WaitingText {
    /// So many peers are told one by one.
    private static let shownPeers = 3

    package static func lines(_ view: SessionView) -> [StyledText] {
        guard view.stage.map({ $0 >= .settingsApplied }) ?? true else {
            return [StyledText("not ready yet: \(view.stage.map(StageText.of) ?? "starting")", .attention)]
        }
        let silent = view.peers.filter { $0.configuredEndpoint != nil && $0.state != .alive }
        guard let first = silent.first else { return [StyledText(view.reason ?? "no answer yet", .attention)] }
        let failure = view.failure ?? first.failure
        var lines = [StyledText("no answer yet: \(failure?.message ?? "nothing came back")", .attention)]
        for peer in silent.prefix(shownPeers) {
            let attempts = "\(peer.attempts) \(peer.attempts == 1 ? "handshake" : "handshakes") sent"
            lines.append("  peer \(peer.publicKey): \(PeerText.endpoint(peer)), \(attempts)")
        }
        if silent.count > shownPeers { lines.append("  and \(silent.count - shownPeers) more peers") }
        lines.append("  check: \(failure?.remedy ?? checks)")
        return lines
    }

    /// Silence has many causes that look the same (design, section 3).
    private static let checks =
        "the endpoint's address and port, the peer's public key, that the peer knows our key, "
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
