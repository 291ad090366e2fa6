package import ControlAPI
import FoundationEssentials
import Glibc
package import LinuxSystem

/// One configuration's file: its JSON, and what it must be to be trusted.
package struct ConfigurationFile {
    static let suffix = ".json"
    /// Bytes of a document.
    static let limit = 1 << 20

    /// Why a file isn't used.
    package enum Fault: Error, Sendable, CustomStringConvertible {
        /// It may come back, so it stays where it is.
        case unreadable(SystemError)
        /// It is set aside: whole, but not as this version reads it.
        case foreign(String)
        /// It is set aside: nobody can use it.
        case damaged(String)

        package var description: String {
            switch self {
            case .unreadable(let error): "\(error)"
            case .foreign(let reason), .damaged(let reason): reason
            }
        }
    }

    /// The file's name for a configuration.
    static func name(_ identifier: String) -> String { identifier + suffix }

    /// The identifier in a file's name; nil for files of others, which are left alone.
    static func identifier(inName name: String) -> String? {
        guard name.hasSuffix(suffix) else { return nil }
        return String(name.dropLast(suffix.count))
    }

    package static func encode(_ configuration: Configuration) throws(ControlError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(configuration), data.count < limit else {
            throw ControlError(
                .configurationInvalid,
                "The configuration can't be saved: it is larger than \(limit) bytes.",
                remedy: "Split it into several."
            )
        }
        return Array(data) + [UInt8(ascii: "\n")]
    }

    /// Reads a configuration.
    ///
    /// - Parameter anybodys: whether others than root may be able to write the file.
    static func read(_ path: String, identifier: String, anybodys: Bool = false) throws(Fault) -> Configuration {
        let configuration = try readOwn(path, identifier: identifier, anybodys: anybodys)
        guard configuration.generation > 0 else { throw Fault.damaged("its generation isn't above 0") }
        return configuration
    }

    /// Reads a configuration as tunneld writes it, whatever its generation.
    static func readOwn(_ path: String, identifier: String, anybodys: Bool = false) throws(Fault) -> Configuration {
        try decode(contents(of: path, anybodys: anybodys), identifier: identifier)
    }

    /// Reads a configuration that somebody else than tunneld may have written: its identifier and its generation, which
    /// tunneld gives, may be missing.
    static func readEdited(_ path: String, identifier: String) throws(Fault) -> Configuration {
        let bytes = try contents(of: path, anybodys: false)
        let configuration = try decode(bytes, identifier: identifier)
        if let twice = DuplicateMember.find(in: bytes) { throw Fault.damaged("\(twice) stands there twice") }
        return configuration
    }

    /// Reads a document's bytes, whoever wrote them.
    package static func decode(_ bytes: [UInt8], identifier: String) throws(Fault) -> Configuration {
        do {
            let document = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
            guard document["name"] != nil, document["type"] != nil else {
                throw Fault.damaged("it is no JSON object with a name and a type")
            }
            if let version = document["version"]?.integer, version > ConfigurationRules.version {
                throw Fault.foreign("its version is \(version), and this tunneld reads \(ConfigurationRules.version)")
            }
            try ConfigurationRules.checkDocument(document)
            var configuration = try document.decoded(as: Configuration.self)
            try ConfigurationRules.check(configuration)
            guard !configuration.name.isEmpty else { throw Fault.damaged("its name is empty") }
            if configuration.identifier.isEmpty { configuration.identifier = identifier }
            guard isIdentifier(identifier) else { throw Fault.damaged(unusableName) }
            guard configuration.identifier == identifier else { throw Fault.damaged("its identifier isn't its name") }
            return configuration
        } catch let error as ControlError {
            throw .foreign("\(error.field ?? "a field"): \(error.reason ?? error.message)")
        } catch let fault as Fault {
            throw fault
        } catch let error as DecodingError {
            throw .damaged(error.fieldAndFault)
        } catch {
            throw .damaged("\(error)")
        }
    }

    /// What is wrong with a file that is called otherwise.
    static let unusableName = "its name isn't IDENTIFIER.json, with a UUID in lower case"

    static func isIdentifier(_ text: String) -> Bool {
        UUID(uuidString: text)?.uuidString.lowercased() == text
    }

    static func contents(of path: String, anybodys: Bool) throws(Fault) -> [UInt8] {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw .unreadable(SystemError(errno, call: "lstat(\(path))")) }
        let isRoots = status.st_uid == geteuid() && status.st_mode & 0o022 == 0
        guard status.st_mode & S_IFMT == S_IFREG, isRoots || anybodys else {
            throw .damaged("it isn't a file that only root can write")
        }
        do throws(SystemError) {
            return try FileSystem.contents(ofFile: path, limit: limit)
        } catch {
            if error.code == EFBIG { throw .damaged("it is larger than \(limit) bytes") }
            throw .unreadable(error)
        }
    }
}
