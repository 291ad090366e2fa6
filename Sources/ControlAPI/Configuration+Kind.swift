extension Configuration.Kind {
    /// Types that other systems have, and what to use in their place.
    private static let refused = [
        "l2tp": "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard.",
        "pptp": "PPTP has been broken for years. Use IKEv2 to the same server, or WireGuard.",
        "ikev2": "IKEv2 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard.",
        "ipsec": "IKEv1 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard.",
    ]

    /// Judges the type as it was written.
    ///
    /// - Throws: `configurationInvalid` for all but `provider`.
    package static func check(_ type: JSONValue?) throws(ControlError) {
        guard case .string(let text) = type else {
            throw .invalid("type", "It is missing.", "It should hold `provider`.")
        }
        if text == Self.provider.rawValue { return }
        throw .invalid(
            "type",
            "`\(ControlError.shown(text))` isn't supported.",
            refused[text.lowercased()] ?? "It should hold `provider`."
        )
    }
}
