package import ControlAPI
import FoundationEssentials
import NetworkTypes

/// What a configuration must be before the store takes it; no look at disk or network.
package enum ConfigurationRules {
    package static let version = 1
    /// Bytes of a name in UTF-8.
    package static let nameLimit = 255

    /// Judges everything that doesn't depend on the provider, but for the name, which is judged when it is given.
    ///
    /// - Throws: `configurationInvalid` with the field that is at fault.
    package static func check(_ configuration: Configuration) throws(ControlError) {
        guard configuration.version == version else {
            throw .invalid(
                "version",
                "This tunneld writes version \(version), not \(configuration.version).",
                "Use a tunnelctl of the same version as tunneld."
            )
        }
        try Configuration.Kind.check(.string(configuration.type.rawValue))
        guard let provider = configuration.provider else {
            throw .invalid("provider", "It is missing.", "It should hold `identifier` and `configuration`.")
        }
        guard provider.configuration.object != nil else {
            throw .invalid(
                "provider.configuration",
                "It is \(provider.configuration.kind).",
                "It should hold an object."
            )
        }
        try OnDemandRules.check(configuration.onDemand.rules)
        guard configuration.owner.profile == nil else {
            throw .invalid(
                "owner.profile",
                "Only an installed profile owns configurations in this way.",
                "Leave it out."
            )
        }
    }

    /// Judges what a document holds before it is read as a configuration.
    ///
    /// - Throws: `configurationInvalid` for a type that isn't there, for a member that this version doesn't know, and for
    ///   anything but a text in the place of a reference.
    package static func checkDocument(_ document: JSONValue) throws(ControlError) {
        try Configuration.Kind.check(document["type"])
        try checkMembers(document)
        if let password = document["passwordReference"], password != .null, password.string == nil {
            throw SecretRules.notAReference("passwordReference")
        }
    }

    static func checkMembers(_ document: JSONValue) throws(ControlError) {
        guard let unknown = ConfigurationMembers.unknown(in: document) else { return }
        throw .invalid(
            unknown.field,
            "This version of tunneld knows no such member.",
            unknown.nearest.map { "Did you mean \($0)?" }
                ?? "Leave it out, or use a tunneld that knows it: org.tunneld.Configurations has the members."
        )
    }

    /// Judges a new name.
    ///
    /// Names of stored configurations aren't judged again: what an earlier version took must stay usable.
    ///
    /// - Throws: `configurationInvalid`.
    package static func checkName(_ name: String) throws(ControlError) {
        guard let fault = nameFault(name) else { return }
        throw .invalid("name", fault, "It should hold 1 to \(nameLimit) bytes of readable text.")
    }

    /// Why nothing may have this name, or nil.
    static func nameFault(_ name: String) -> String? {
        if name.isEmpty {
            "It is empty."
        } else if name.utf8.count > nameLimit {
            "It has \(name.utf8.count) bytes."
        } else if name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            "It has control characters."
        } else if name.hasHiddenCharacters {
            "It has invisible characters, or such as turn the direction of writing: \(name.escapedForTerminal)."
        } else if UUID(uuidString: name) != nil {
            "It has the form of an identifier, by which configurations are found, too."
        } else if name.first?.isWhitespace == true || name.last?.isWhitespace == true {
            "It begins or ends with a blank."
        } else {
            nil
        }
    }
}
