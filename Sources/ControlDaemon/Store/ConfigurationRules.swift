package import ControlAPI

/// What a configuration must be before the store takes it; no look at disk or network.
package enum ConfigurationRules {
    package static let version = 1
    /// Bytes of a name in UTF-8.
    package static let nameLimit = 255

    /// Types that other systems have, and what to use in their place.
    private static let refusedTypes = [
        "l2tp": "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard.",
        "pptp": "PPTP has been broken for years. Use IKEv2 to the same server, or WireGuard.",
        "ikev2": "IKEv2 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard.",
        "ipsec": "IKEv1 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard.",
    ]

    /// Judges the type as the client wrote it.
    ///
    /// - Throws: `configurationInvalid` for all but `provider`.
    package static func checkType(_ type: JSONValue?) throws(ControlError) {
        guard case .string(let text) = type else {
            throw invalid("type", "It is missing.", "It should hold `provider`.")
        }
        if text == Configuration.Kind.provider.rawValue { return }
        throw invalid(
            "type",
            "`\(shown(text))` isn't supported.",
            refusedTypes[text.lowercased()] ?? "It should hold `provider`."
        )
    }

    /// Judges everything that doesn't depend on the provider.
    ///
    /// - Throws: `configurationInvalid` with the field that is at fault.
    package static func check(_ configuration: Configuration) throws(ControlError) {
        guard configuration.version == version else {
            throw invalid(
                "version",
                "This tunneld writes version \(version), not \(configuration.version).",
                "Use a tunnelctl of the same version as tunneld."
            )
        }
        try checkType(.string(configuration.type.rawValue))
        try checkName(configuration.name)
        guard let provider = configuration.provider else {
            throw invalid("provider", "It is missing.", "It should hold `identifier` and `configuration`.")
        }
        guard provider.configuration.object != nil else {
            throw invalid(
                "provider.configuration",
                "It is \(provider.configuration.kind).",
                "It should hold an object."
            )
        }
        try OnDemandRules.check(configuration.onDemand.rules)
        guard configuration.owner.profile == nil else {
            throw invalid(
                "owner.profile",
                "Only an installed profile owns configurations in this way.",
                "Leave it out."
            )
        }
    }

    private static func checkName(_ name: String) throws(ControlError) {
        guard let fault = nameFault(name) else { return }
        throw invalid("name", fault, "It should hold 1 to \(nameLimit) bytes of readable text.")
    }

    /// Why nothing may have this name, or nil.
    static func nameFault(_ name: String) -> String? {
        if name.isEmpty {
            "It is empty."
        } else if name.utf8.count > nameLimit {
            "It has \(name.utf8.count) bytes."
        } else if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            "It has control characters."
        } else if name.first?.isWhitespace == true || name.last?.isWhitespace == true {
            "It begins or ends with a blank."
        } else {
            nil
        }
    }

    /// An error that names the field, what is wrong, and what it should hold.
    package static func invalid(_ field: String, _ fault: String, _ wanted: String) -> ControlError {
        ControlError(
            .configurationInvalid,
            "The configuration can't be saved: \(field) is wrong.",
            reason: fault,
            remedy: wanted,
            field: field
        )
    }

    /// A text of a client's, cut, for a message.
    static func shown(_ text: String) -> String {
        String(text.unicodeScalars.filter { $0.properties.generalCategory != .control }.prefix(32).map(Character.init))
    }
}
