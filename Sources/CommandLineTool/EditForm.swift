import ControlAPI
import FoundationEssentials
import LinuxSystem
import TunnelCrypto
import WireGuardConfig

/// A configuration as a text that a person can edit, and back.
protocol EditForm: Sendable {
    /// Of the file's name.
    var suffix: String { get }

    /// Never holds a secret.
    func text(of configuration: Configuration) throws -> String

    /// What the text says, put into the configuration that it was made from.
    ///
    /// - Throws: what is wrong with it, for the person to mend.
    func read(_ text: String, into base: Configuration) throws -> (Configuration, NewSecrets?)
}

/// Every key, as JSON; lines that begin with `#` are left out.
struct JSONEditForm: EditForm {
    let suffix = ".json"

    /// tunneld's own keys, which nobody sets.
    private static let given = ["version", "identifier", "generation"]
    private static let optional = ["serverAddress", "username", "passwordReference"]

    func text(of configuration: Configuration) throws -> String {
        var members = try JSONValue(encoding: configuration).object ?? [:]
        for key in Self.given { members[key] = nil }
        for key in Self.optional where members[key] == nil { members[key] = .null }
        let head = [
            "# \(configuration.name), generation \(configuration.generation). Lines that begin with # are left out.",
            "# Secrets don't stand here: references to them do, and can stay as they are.",
        ]
        return (head + (try Console.jsonLines(JSONValue.object(members)))).map { $0 + "\n" }.joined()
    }

    func read(_ text: String, into base: Configuration) throws -> (Configuration, NewSecrets?) {
        // Kept as empty lines, so that the parser counts as the editor does.
        let json = text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.first { $0 != " " && $0 != "\t" } == "#" ? "" : $0 }.joined(separator: "\n")
        guard case .object(var members) = try document(json) else {
            throw ControlError(
                .invalidParameter,
                "This isn't a JSON object.",
                remedy: "It begins with { and ends with }."
            )
        }
        if let twice = DuplicateMember.find(in: Array(json.utf8)) {
            throw ControlError(
                .configurationInvalid,
                "\"\(twice)\" stands there twice.",
                remedy: "Keep the one that you mean.",
                field: twice
            )
        }
        if let unknown = ConfigurationShape.unknownKey(in: .object(members)) {
            throw ControlError(
                .configurationInvalid,
                "There is no key \"\(unknown.key)\".",
                remedy: unknown.hint.map { "Did you mean \($0)?" },
                field: unknown.key
            )
        }
        let present = try JSONValue(encoding: base)
        for key in Self.given {
            if let value = members[key], value != present[key] {
                throw ControlError(
                    .configurationInvalid,
                    "\(key) can't be changed: tunneld gives it.",
                    remedy: "Leave it out.",
                    field: key
                )
            }
            members[key] = present[key]
        }
        return (try CommandContext.configuration(from: .object(members)), nil)
    }

    private func document(_ json: String) throws -> JSONValue {
        do {
            return try JSONDecoder().decode(JSONValue.self, from: Data(json.utf8))
        } catch let error as DecodingError {
            throw ControlError(
                .invalidParameter,
                "This isn't JSON.",
                reason: Self.place(of: error),
                remedy: "Mend that line; every { and [ needs its end, and commas stand between members."
            )
        }
    }

    /// What the parser says: "Unexpected character '}' around line 12, column 3.".
    private static func place(of error: DecodingError) -> String {
        guard case .dataCorrupted(let context) = error else { return "The parser stopped." }
        guard let inner = context.underlyingError else { return context.debugDescription }
        let text = "\(inner)"
        guard let start = text.firstRange(of: "NSDebugDescription=") else { return text }
        return String(text[start.upperBound...].prefix { $0 != "}" && $0 != "\n" })
    }
}

/// WireGuard's part, as a `.conf` file.
struct ConfEditForm: EditForm {
    let suffix = ".conf"

    func text(of configuration: Configuration) throws -> String {
        guard let wireGuard = configuration.wireGuard else {
            throw ControlError(
                .invalidParameter,
                "\(configuration.name) can't be written as a .conf file.",
                reason: "It isn't one of WireGuard's: \(configuration.provider?.identifier ?? "no provider").",
                remedy: "Edit it as JSON: without --conf."
            )
        }
        return "# Keys that don't stand here stay as they are stored; one that is added replaces the stored one.\n"
            + ConfigurationWriter.text(of: wireGuard).split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.hasSuffix("export with --with-secrets to have it.") }.joined(separator: "\n")
    }

    func read(_ text: String, into base: Configuration) throws -> (Configuration, NewSecrets?) {
        let stored = base.wireGuard
        let result: ImportResult
        do throws(ImportErrors) {
            result = try ConfigurationReader.read(Array(text.utf8), storedPrivateKey: stored?.privateKeyReference) {
                $0.byteCount == X25519.keySize ? WireGuardPublicKey(bytes: X25519.publicKey(of: $0)) : nil
            }
        } catch {
            throw ControlError(
                .invalidParameter,
                "This file can't be used.",
                reason: error.errors.prefix(20).map(\.description).joined(separator: "\n")
            )
        }
        var wireGuard = result.configuration
        for index in wireGuard.peers.indices where wireGuard.peers[index].presharedKeyReference == nil {
            let key = wireGuard.peers[index].publicKey
            wireGuard.peers[index].presharedKeyReference =
                stored?.peers.first { $0.publicKey == key }?.presharedKeyReference
        }
        if let stored { wireGuard.hooks += stored.hooksWithKeys.filter { !wireGuard.hooks.contains($0) } }
        var configuration = base
        if wireGuard != stored { configuration.provider?.configuration = try JSONValue(encoding: wireGuard) }
        return (configuration, try SecretEnvelope.seal(result.secrets))
    }
}
