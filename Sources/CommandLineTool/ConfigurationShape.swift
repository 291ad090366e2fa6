import ControlAPI

/// Every key of a configuration (design, section 10), and what it holds.
enum ConfigurationShape {
    /// - Parameter provider: the identifier of the configuration's provider, whose own part is known for WireGuard's.
    static func root(provider: String?) -> ValueShape {
        .object([
            "version": .given, "identifier": .given, "generation": .given, "name": .text, "type": .text,
            "owner": .object(["user": .optionalInteger, "application": .optionalText, "profile": .optionalText]),
            "enabled": .boolean, "exclusive": .boolean, "startAtBoot": .boolean, "serverAddress": .optionalText,
            "username": .optionalText, "passwordReference": .optionalText, "includeAllNetworks": .boolean,
            "excludeLocalNetworks": .boolean, "enforceRoutes": .boolean, "persistentBlock": .boolean,
            "disconnectOnSleep": .boolean, "nestedIn": .optionalText,
            "onDemand": .object(["enabled": .boolean, "rules": .array(of: .any)]),
            "provider": .object([
                "identifier": .text,
                "configuration": provider == WireGuardProviderName.identifier ? wireGuard : .any,
            ]),
        ])
    }

    private static let wireGuard = ValueShape.object([
        "privateKeyReference": .text, "addresses": .texts, "excludedRoutes": .texts,
        "disabledOffloads": .texts,
        "dns": .object([
            "servers": .texts, "searchDomains": .texts, "routeOnlyDomains": .texts, "dnsOverTLS": .optionalText,
            "dnssec": .optionalText,
        ]),
        "mtu": .optionalInteger, "listenPort": .optionalInteger, "table": .optionalNumberOrText,
        "firewallMark": .optionalInteger, "saveConfig": .boolean,
        "hooks": .array(of: .object(["event": .text, "command": .text])),
        "peers": .array(
            of: .object([
                "publicKey": .text, "presharedKeyReference": .optionalText, "endpoint": .optionalText,
                "allowedIPs": .texts, "persistentKeepalive": .optionalInteger,
            ])
        ),
    ])

    /// The first member of an edited document that no key is called like; nil where all are known.
    ///
    /// The provider's own part is its own affair.
    static func unknownKey(in document: JSONValue) -> (key: String, hint: String?)? {
        unknownKey(in: document, root(provider: nil), prefix: "")
    }

    private static func unknownKey(
        in document: JSONValue,
        _ shape: ValueShape,
        prefix: String
    ) -> (key: String, hint: String?)? {
        guard case .object(let shapes) = shape, case .object(let members) = document else { return nil }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard let shape = shapes[name] else {
                return (prefix + name, NearestName.find(name, among: shapes.keys.sorted()).map { prefix + $0 })
            }
            if let found = unknownKey(in: value, shape, prefix: prefix + name + ".") { return found }
        }
        return nil
    }
}
