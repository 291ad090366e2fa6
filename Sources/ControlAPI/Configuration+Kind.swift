extension Configuration.Kind {
    /// Types that other systems have, and what to use in their place; the first whose word stands in the text counts.
    private static let refused = [
        ("l2tp", "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard."),
        ("pptp", "PPTP has been broken for years. Use IKEv2 to the same server, or WireGuard."),
        ("ikev2", "IKEv2 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard."),
        ("ipsec", "IKEv1 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard."),
    ]

    /// Judges the type as it was written.
    ///
    /// - Throws: `configurationInvalid` for all but `provider`.
    package static func check(_ type: JSONValue?) throws(ControlError) {
        let wanted = "It should hold `provider`."
        guard let type else { throw .invalid("type", "It is missing.", wanted) }
        guard case .string(let text) = type else { throw .invalid("type", "It is \(type.kind).", wanted) }
        if text == Self.provider.rawValue { return }
        // "L2TP/IPsec", "l2tp over ipsec", "L2-TP": however it is spelled.
        let word = text.lowercased().filter { $0.isLetter || $0.isNumber }
        throw .invalid(
            "type",
            ControlError.sentence("\(ControlError.quoted(text)) isn't supported"),
            refused.first { word.contains($0.0) }?.1 ?? wanted
        )
    }
}
