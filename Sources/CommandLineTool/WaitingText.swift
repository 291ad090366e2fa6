package import ControlAPI

/// What is told while a tunnel isn't connected: who doesn't answer, what was tried, what to check.
package enum WaitingText {
    /// So many peers are told one by one.
    private static let shownPeers = 3

    /// Why a tunnel isn't connected yet, and what to do.
    package struct Trouble: Equatable, Sendable {
        package let what: String
        /// The same as long as nothing but the number of handshakes changes.
        let topic: String
        /// Who doesn't answer, and what was tried.
        package let peers: [String]
        /// Handshakes that were sent to them all.
        let sent: Int
        package let remedy: String?

        /// "3 handshakes".
        var attempts: String { WaitingText.handshakes(sent) }
    }

    package static func trouble(_ view: SessionView) -> Trouble {
        if let stage = view.stage, stage < .settingsApplied {
            let what = [view.reason, notReady(stage)].compactMap(\.self).joined(separator: " ")
            return Trouble(what: what, topic: what, peers: [], sent: 0, remedy: nil)
        }
        let silent = view.peers.filter { $0.configuredEndpoint != nil && $0.state != .alive }
        var peers = silent.prefix(shownPeers).map { line($0, isOnly: silent.count == 1) }
        if silent.count > shownPeers { peers.append("and \(silent.count - shownPeers) more peers") }
        let sent = silent.reduce(0) { $0 + $1.attempts }
        let failures = silent.prefix(shownPeers).compactMap(\.failure)
        guard silent.count > 1 else {
            let failure = view.failure ?? failures.first
            let what = failure?.message ?? view.reason ?? "No peer has answered yet."
            return Trouble(
                what: what,
                topic: failure.map(topic) ?? what,
                peers: peers,
                sent: sent,
                remedy: failure?.remedy ?? (silent.isEmpty ? nil : checks)
            )
        }
        // Each may fail for another reason: what is told of one would be untrue of the others.
        var remedies: [String] = []
        for failure in failures where !remedies.contains(failure.remedy) { remedies.append(failure.remedy) }
        return Trouble(
            what: "None of \(silent.count) peers has answered yet.",
            topic: ([String(silent.count)] + failures.map(topic)).joined(separator: ", "),
            peers: peers,
            sent: sent,
            remedy: remedies.isEmpty ? checks : remedies.joined(separator: " ")
        )
    }

    private static func notReady(_ stage: StartStage) -> String {
        stage < .providerStarted
            ? "Its provider's process is still being started."
            : "Its provider runs, and its interface, addresses and routes are still being set up."
    }

    private static func topic(_ failure: FailureView) -> String {
        "\(failure.kind.rawValue) \(failure.endpoint ?? "")"
    }

    private static func line(_ peer: PeerView, isOnly: Bool) -> String {
        let what =
            (isOnly ? nil : peer.failure?.message) ?? "\(PeerText.endpoint(peer)), \(handshakes(peer.attempts)) sent"
        return "peer \(peer.publicKey): \(what)"
    }

    fileprivate static func handshakes(_ count: Int) -> String { "\(count) \(count == 1 ? "handshake" : "handshakes")" }

    /// What a tunnel that ran before its start was asked for does: "is already up".
    package static func already(_ view: SessionView) -> String {
        switch view.status {
        case .connected: "is already up"
        case .reasserting: "is already up and reasserting its connection"
        case .disconnecting: "is still being stopped and starts anew after that"
        case .connecting, .disconnected, .invalid:
            "is already starting" + (view.stage.map { " (\(StageText.of($0)))" } ?? "")
        }
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
        if let dns = view.dns, !SessionText.dns(dns).isEmpty,
            let note = dns.note ?? (dns.applied ? nil : "DNS not applied")
        {
            lines.insert(StyledText(note, .attention), at: 0)
        }
        return lines
    }
}
