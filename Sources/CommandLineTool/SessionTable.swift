package import ControlAPI

/// All tunnels, a line each: `status` without a name.
package enum SessionTable {
    /// - Parameter owners: whose each is, by identifier; empty where the names say it.
    package static func lines(_ sessions: [SessionView], owners: [String: String] = [:]) -> [StyledText] {
        guard !sessions.isEmpty else { return ["No configuration is stored. `tunnelctl import FILE` stores one."] }
        // The counters are those of the interface, and so estimates.
        let hasOwners = !owners.isEmpty
        var table = TextTable(
            ["NAME"] + (hasOwners ? ["OWNER"] : [])
                + ["STATUS", "SINCE", "INTERFACE", "HANDSHAKE", "RX (EST.)", "TX (EST.)"]
        )
        for view in sessions {
            let handshake = view.peers.compactMap(\.latestHandshake).max()
            let owner = hasOwners ? [StyledText(owners[view.identifier] ?? "?")] : []
            table.append(
                [StyledText(view.name, .bold)] + owner + [
                    SessionText.status(view.status),
                    StyledText(view.since.map { QuantityText.age($0, at: view.readAt) } ?? "-"),
                    StyledText(view.interface ?? "-"),
                    // No peers: there are none, or the provider doesn't answer, and nobody knows.
                    StyledText(view.peers.isEmpty ? "-" : QuantityText.age(handshake, at: view.readAt)),
                    StyledText(view.counters.map { QuantityText.bytes($0.receivedBytes) } ?? "-"),
                    StyledText(view.counters.map { QuantityText.bytes($0.sentBytes) } ?? "-"),
                ]
            )
        }
        return table.lines
    }
}
