package import ControlAPI
import NetworkTypes

/// One screen that says what a tunnel does: `status NAME`.
package enum SessionText {
    package static func lines(_ view: SessionView) -> [StyledText] {
        var lines = [headline(view)]
        lines += facts(view).map { "  \($0.label.padded(to: 14), .dim)\($0.text)" }
        for peer in view.peers {
            lines.append("")
            lines.append("  \("peer".padded(to: 14), .dim)\(peer.publicKey, .bold)")
            lines += PeerText.facts(peer, of: view).map { "    \($0.label.padded(to: 12), .dim)\($0.text)" }
        }
        return lines
    }

    /// "home: connected since 2026-01-31 23:59:59 UTC (12 min)".
    static func headline(_ view: SessionView) -> StyledText {
        var line: StyledText = "\(view.name, .bold): \(status(view.status))"
        if let since = view.since {
            let (age, overflow) = view.readAt.milliseconds.subtractingReportingOverflow(since.milliseconds)
            let duration = overflow ? "" : " (\(QuantityText.duration(milliseconds: age)))"
            line = line + " since \(QuantityText.time(since))\(duration)"
        }
        return view.enabled ? line : line + ", disabled"
    }

    static func status(_ status: TunnelStatus) -> StyledText {
        switch status {
        case .connected: StyledText(status.rawValue, .good)
        case .connecting, .reasserting, .disconnecting: StyledText(status.rawValue, .attention)
        case .invalid: StyledText(status.rawValue, .bad)
        case .disconnected: StyledText(status.rawValue)
        }
    }

    /// A line of facts: what it is about and what is said.
    typealias Fact = (label: String, text: StyledText)

    private static func facts(_ view: SessionView) -> [Fact] {
        var facts: [Fact] = []
        func add(_ label: String, _ text: String?) {
            if let text, !text.isEmpty { facts.append((label, StyledText(text))) }
        }
        if view.reason != view.failure?.message { add("reason", view.reason) }
        if view.status == .connecting { add("stage", view.stage.map(StageText.of)) }
        facts += failure(view)
        if let interface = view.interface {
            let mtu = view.mtu.map { ", MTU \($0)" } ?? ""
            add("interface", interface + mtu + (view.providerProcess.map { ", provider process \($0)" } ?? ""))
        }
        if let losses = view.providerLosses {
            let times = losses.count == 1 ? "once" : "\(losses.count) times"
            add("", "provider lost \(times), last at \(QuantityText.time(losses.time)): \(losses.reason)")
        }
        add("nested in", view.nestedIn)
        add("addresses", view.addresses.joined(separator: ", "))
        add("routes", view.routes.joined(separator: ", "))
        add("DNS", view.dns.map(dns))
        if let block = view.block { facts += self.block(block) }
        add("public key", view.publicKey)
        add("listen port", view.listenPort.map(String.init))
        let traffic = view.counters.map(counters) ?? []
        for (index, line) in traffic.enumerated() { add(index == 0 ? "traffic" : "", line) }
        for note in view.notesBesideDNS { add("note", note) }
        return facts
    }

    /// Why it isn't connected: the peer that keeps it from it, or the error that the last session ended with.
    private static func failure(_ view: SessionView) -> [Fact] {
        var facts: [Fact] = []
        if let failure = view.failure {
            facts.append(("failure", StyledText(failure.message, .bad)))
            facts.append(("do", StyledText(failure.remedy)))
        }
        if let error = view.lastDisconnectError {
            facts.append(("last error", StyledText(error.message, .bad)))
            if let reason = error.reason { facts.append(("", "why: \(reason)")) }
            if let own = error.underlying { facts.append(("", "provider: \(own.domain) \(own.code): \(own.message)")) }
            if let remedy = error.remedy { facts.append(("", "do: \(remedy)")) }
        }
        return facts
    }

    /// "in force since …", why, and what lifts it.
    private static func block(_ block: BlockView) -> [Fact] {
        let since = block.since.map { " since \(QuantityText.time($0))" } ?? ""
        let text = block.inForce ? "in force\(since)" : "not in force"
        var facts: [Fact] = [("Block", StyledText(text, block.inForce ? .attention : .bad)), ("", "\(block.reason)")]
        if let remedy = block.remedy { facts.append(("", "do: \(remedy)")) }
        if !block.held, !block.holders.isEmpty { facts.append(("", "for: \(block.holders.joined(separator: ", "))")) }
        if block.restored > 0 {
            let last = block.lastRestored.map { ", last at \(QuantityText.time($0))" } ?? ""
            let times = block.restored == 1 ? "once" : "\(block.restored) times"
            facts.append(("", "rules put back \(times)\(last): others had removed or changed them"))
        }
        return facts
    }

    /// "10.0.0.1, search example.org, by systemd-resolved"; then, where there is one, "; DNS not effective: …"; empty where no
    /// DNS is configured.
    static func dns(_ dns: DNSView) -> String {
        var parts = dns.servers
        if !dns.searchDomains.isEmpty { parts.append("search " + dns.searchDomains.joined(separator: " ")) }
        if !dns.routeOnlyDomains.isEmpty { parts.append("only for " + dns.routeOnlyDomains.joined(separator: " ")) }
        guard !parts.isEmpty else { return "" }
        if let backend = dns.backend { parts.append("by \(backend)") }
        let note = dns.note ?? (dns.applied ? nil : "DNS not applied")
        return ([parts.joined(separator: ", ")] + [note].compactMap(\.self)).joined(separator: "; ")
    }

    static func counters(_ counters: CountersView) -> [String] {
        func direction(_ verb: String, _ bytes: UInt64, _ packets: UInt64, _ dropped: UInt64) -> String {
            "\(verb) \(QuantityText.bytes(bytes)) in \(QuantityText.count(packets)) packets"
                + (dropped == 0 ? "" : ", \(QuantityText.count(dropped)) dropped")
        }
        return [
            direction("received", counters.receivedBytes, counters.receivedPackets, counters.receivedDropped),
            direction("sent", counters.sentBytes, counters.sentPackets, counters.sentDropped),
            "estimate, counted inside the tunnel since \(QuantityText.time(counters.since))",
        ]
    }
}

extension String {
    /// With blanks behind it, up to a number of columns.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - displayWidth)) }
}
