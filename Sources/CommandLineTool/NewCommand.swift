import ControlAPI
import ControlClient
import Glibc
import LinuxSystem
import NetworkTypes
import TunnelCrypto
import WireGuardConfig

/// `new NAME`: makes a key pair and stores a configuration to fill in.
struct NewCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let name = context.invocation.operand(0)
        let lines = try ConfigurationLines(context.invocation.options)
        let made = try make(lines, named: name)
        let configuration = Configuration(
            name: name,
            owner: .init(user: getuid()),
            provider: Configuration.Provider(
                identifier: WireGuardProviderName.identifier,
                configuration: try JSONValue(encoding: made.configuration)
            )
        )
        let saved = try await context.save(
            configuration,
            generation: 0,
            secrets: made.secrets,
            whereTaken: "Give another name, or `\(TunnelctlCommand.text("remove", name))` first."
        )
        let document = NewDocument(
            identifier: saved.identifier,
            name: name,
            generation: saved.generation,
            publicKey: made.publicKey
        )
        if context.console.json {
            try context.console.print(json: document)
        } else {
            try context.console.print(document.lines(lacksPeer: made.configuration.peers.isEmpty))
        }
        return .done
    }

    private typealias Made = (
        configuration: WireGuardConfiguration, publicKey: String, secrets: NewSecrets?
    )

    /// Draws the key pair and reads the options as the lines of a file, which checks them as a file is checked.
    private func make(_ lines: ConfigurationLines, named name: String) throws -> Made {
        let pair = KeyPair()
        var secrets = ConfigurationSecrets()
        secrets.insert(pair.privateKey.bytes, for: SecretPlaceholder.privateKey)
        guard let publicKey = WireGuardPublicKey(bytes: pair.publicKey) else {
            throw ControlError(.internalError, "No key pair could be made.")
        }
        do {
            let result = try ConfigurationReader.read(lines.file, storedPrivateKey: SecretPlaceholder.privateKey)
            return (result.configuration, publicKey.description, try SecretEnvelope.seal(secrets))
        } catch let errors as ImportErrors {
            throw ImportFailure(
                headline: "\(name) can't be made; nothing was saved.",
                faults: errors.errors.map { lines.fault($0) },
                code: .wrongUsage
            )
        }
    }
}

/// What `new` prints.
private struct NewDocument: Encodable {
    let identifier: String
    let name: String
    let generation: Int
    let publicKey: String

    func lines(lacksPeer: Bool) -> [StyledText] {
        var lines: [StyledText] = [
            "\(name, .bold) is stored with a new key pair (\(identifier)).", "Public key: \(publicKey, .bold)", "",
            "Next:", "  Give this public key to the other side.",
        ]
        if lacksPeer {
            let file = name.fileName + ".conf"
            // "--name=-x" is no option "-x".
            let options = [
                name.hasPrefix("-") ? "--name=\(name.shellQuoted)" : "--name \(name.shellQuoted)", "--replace",
            ]
            lines += [
                "  Fill in the other side: `\(TunnelctlCommand.text("export", name)) > \(file.shellQuoted)`, add its [Peer] there,",
                "  `\(TunnelctlCommand.text("import", file, options: options))`; the private key is kept.",
            ]
        }
        lines.append("  Start it: `\(TunnelctlCommand.text("up", name))`.")
        return lines
    }
}

extension String {
    /// A name for a file in the present folder.
    fileprivate var fileName: String {
        let name = String(map { $0 == "/" ? "-" : $0 })
        return name.hasPrefix("-") ? "./" + name : name
    }
}
