import ControlAPI
import FoundationEssentials

/// What an on-demand rule holds (design, section 3): typed objects, whose order is the policy.
///
/// The keys are those of Apple's `NEOnDemandRule` and `NEEvaluateConnectionRule`.
enum OnDemandRules {
    /// More than any policy has.
    static let limit = 1000

    static let actions = ["connect", "disconnect", "evaluateConnection", "ignore"]
    static let interfaceTypes = ["any", "ethernet", "wiFi", "cellular"]
    static let connectionActions = ["connectIfNeeded", "neverConnect"]

    private static let keys = [
        "action", "interfaceTypeMatch", "ssidMatch", "dnsSearchDomainMatch", "dnsServerAddressMatch", "probeURL",
        "connectionRules",
    ]
    private static let connectionKeys = ["action", "matchDomains", "useDNSServers", "probeURL"]

    /// - Throws: `configurationInvalid` with the path of the first thing that is wrong.
    static func check(_ rules: [JSONValue]) throws(ControlError) {
        guard rules.count <= limit else {
            throw ControlError.invalid(
                "onDemand.rules",
                "There are \(rules.count).",
                "It should hold at most \(limit) rules."
            )
        }
        for (index, rule) in rules.enumerated() {
            try check(rule, at: "onDemand.rules[\(index)]")
        }
    }

    private static func check(_ rule: JSONValue, at path: String) throws(ControlError) {
        let members = try object(rule, at: path, keys: keys)
        let action = try word(members["action"], at: "\(path).action", among: actions)
        if let type = members["interfaceTypeMatch"], type != .null {
            _ = try word(type, at: "\(path).interfaceTypeMatch", among: interfaceTypes)
        }
        for key in ["ssidMatch", "dnsSearchDomainMatch", "dnsServerAddressMatch"] {
            try texts(members[key], at: "\(path).\(key)")
        }
        try address(members["probeURL"], at: "\(path).probeURL")
        guard let connections = members["connectionRules"], connections != .null else { return }
        let place = "\(path).connectionRules"
        guard action == "evaluateConnection" else {
            throw ControlError.invalid(
                place,
                "The action is \(action), which evaluates no connection.",
                "Leave it out, or use the action evaluateConnection."
            )
        }
        guard let connections = connections.array else {
            throw ControlError.invalid(place, "It is \(connections.kind).", "It should hold an array of objects.")
        }
        for (index, connection) in connections.enumerated() {
            let path = "\(place)[\(index)]"
            let members = try object(connection, at: path, keys: connectionKeys)
            _ = try word(members["action"], at: "\(path).action", among: connectionActions)
            guard members["matchDomains"]?.array?.isEmpty == false else {
                throw ControlError.invalid(
                    "\(path).matchDomains",
                    "No domain is named.",
                    "It should hold an array of domains."
                )
            }
            for key in ["matchDomains", "useDNSServers"] { try texts(members[key], at: "\(path).\(key)") }
            try address(members["probeURL"], at: "\(path).probeURL")
        }
    }

    private static func object(
        _ value: JSONValue,
        at path: String,
        keys: [String]
    ) throws(ControlError) -> [String: JSONValue] {
        guard let members = value.object else {
            throw ControlError.invalid(
                path,
                "It is \(value.kind).",
                "It should hold a rule: an object such as {\"action\": \"\(keys == Self.keys ? "connect" : "neverConnect")\"}."
            )
        }
        for key in members.keys.sorted() where !keys.contains(key) {
            throw ControlError.invalid(
                "\(path).\(ControlError.named(key))",
                "No such key is known.",
                "Known are \(keys.joined(separator: ", "))."
            )
        }
        return members
    }

    private static func word(
        _ value: JSONValue?,
        at path: String,
        among words: [String]
    ) throws(ControlError) -> String {
        let wanted = "It should hold \(words.dropLast().joined(separator: ", ")) or \(words.last ?? "")."
        guard let value, value != .null else { throw ControlError.invalid(path, "It is missing.", wanted) }
        guard let text = value.string else {
            throw ControlError.invalid(path, "It is \(value.kind).", wanted)
        }
        guard words.contains(text) else {
            throw ControlError.invalid(path, "It is \(ControlError.quoted(text)).", wanted)
        }
        return text
    }

    private static func texts(_ value: JSONValue?, at path: String) throws(ControlError) {
        guard let value, value != .null else { return }
        guard let elements = value.array else {
            throw ControlError.invalid(path, "It is \(value.kind).", "It should hold an array of strings.")
        }
        for (index, element) in elements.enumerated() {
            guard let text = element.string, !text.isEmpty else {
                throw ControlError.invalid(
                    "\(path)[\(index)]",
                    element == "" ? "It is empty." : "It is \(element.kind).",
                    "It should hold a string."
                )
            }
        }
    }

    private static func address(_ value: JSONValue?, at path: String) throws(ControlError) {
        guard let value, value != .null else { return }
        let wanted = "It should hold a URL, such as https://intranet.example.org/."
        guard let text = value.string else { throw ControlError.invalid(path, "It is \(value.kind).", wanted) }
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased() ?? ""),
            url.host()?.isEmpty == false
        else { throw ControlError.invalid(path, "It is no URL of http or https.", wanted) }
    }
}
