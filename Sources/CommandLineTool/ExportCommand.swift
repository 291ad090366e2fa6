import ControlAPI
import ControlClient
import Glibc
import WireGuardConfig

/// `export NAME [--with-secrets]`: the configuration as a `.conf` file.
struct ExportCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let configuration = try await context.findConfiguration()
        guard let wireGuard = configuration.wireGuard else {
            throw ControlError(
                .invalidParameter,
                "\(configuration.name) can't be written as a .conf file.",
                reason: "It isn't one of WireGuard's: \(configuration.provider?.identifier ?? "no provider").",
                remedy: "`\(TunnelctlCommand.text("show", configuration.name, options: ["--json"]))` prints it as JSON."
            )
        }
        let withSecrets = context.invocation.has(.withSecrets)
        var bytes =
            withSecrets
            ? try await revealed(wireGuard, of: configuration) : Array(ConfigurationWriter.text(of: wireGuard).utf8)
        defer {
            unsafe bytes.withUnsafeMutableBytes { bytes in
                if let base = bytes.baseAddress { unsafe explicit_bzero(base, bytes.count) }
            }
        }
        if context.console.json {
            try context.console.print(
                json: ExportDocument(
                    identifier: configuration.identifier,
                    name: configuration.name,
                    withSecrets: withSecrets,
                    text: String(decoding: bytes, as: UTF8.self)
                )
            )
        } else {
            try context.console.print(bytes: bytes)
        }
        if !withSecrets {
            let command = TunnelctlCommand.text("export", configuration.name, options: ["--with-secrets"])
            context.console.note("The keys are left out; `\(command)` has them.")
        } else if context.console.isTerminal {
            context.console.note("Secrets stand on this screen and in its scroll-back now.")
        }
        return .done
    }

    private func revealed(_ wireGuard: WireGuardConfiguration, of configuration: Configuration) async throws -> [UInt8]
    {
        let secrets = try SecretEnvelope.open(try await context.daemon.reveal(configuration.identifier))
        do throws(ConfigurationWriter.MissingSecret) {
            return try ConfigurationWriter.bytes(of: wireGuard, with: secrets)
        } catch {
            throw ControlError(
                .secretUnavailable,
                "A secret of \(configuration.name) is missing.",
                reason: "tunneld's keychain doesn't hold \(error.reference).",
                remedy: "Import the configuration again with its keys, and --replace."
            )
        }
    }
}

private struct ExportDocument: Encodable {
    let identifier: String
    let name: String
    let withSecrets: Bool
    /// The `.conf` file.
    let text: String
}
