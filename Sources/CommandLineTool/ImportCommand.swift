import ControlAPI
import ControlClient
import Glibc
import LinuxSystem
import NetworkTypes
import TunnelCrypto
import WireGuardConfig

/// `import FILE|FOLDER`: stores WireGuard's `.conf` files and reports on every line.
struct ImportCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let path = context.invocation.operand(0)
        if InputFile.isOpen(path), context.invocation.value(.name) == nil {
            throw UsageError(
                path == "-" ? "Standard input has no name." : "\(path) has no name.",
                hint: "Add --name NAME."
            )
        }
        guard let folder = try ImportFolder(path) else {
            let document = try await importFile(path, name: context.invocation.value(.name))
            if context.console.json {
                try context.console.print(json: document)
            } else {
                try context.console.print(document.lines)
            }
            return .done
        }
        if context.invocation.has(.name) {
            throw UsageError("--name is for one file; those of a folder keep their own names.")
        }
        let code = folder.files.isEmpty ? ExitCode.failed : try await importFiles(folder.files)
        try report(folder.leftOut)
        if folder.files.isEmpty {
            throw ControlError(.notFound, "There is no .conf file in \(path).", remedy: "Name a file, or its folder.")
        }
        return code
    }

    /// Imports each file; one that fails doesn't keep the others from it.
    private func importFiles(_ paths: [String]) async throws -> ExitCode {
        var failures = 0
        for path in paths {
            do {
                let document = try await importFile(path, name: nil)
                if context.console.json {
                    try context.console.print(json: document, streaming: true)
                } else {
                    try context.console.print(document.lines)
                }
            } catch let failure as ImportFailure {
                failures += 1
                context.console.report(failure)
            } catch var error as ControlError where error.concernsOneFile {
                failures += 1
                // Only what this program found in the file names it.
                if !error.message.contains(path) { error.message = "\(path): \(error.message)" }
                context.console.report(error)
            }
        }
        if failures > 0 { context.console.note("\(failures) of \(paths.count) files were not imported.") }
        return failures == 0 ? .done : .failed
    }

    /// What else lies in a folder.
    private func report(_ leftOut: [ImportFolder.LeftOut]) throws {
        if context.console.json {
            for entry in leftOut { try context.console.print(json: entry, streaming: true) }
        } else {
            try context.console.print(leftOut.map { "\($0.file): \("not taken", .attention): \($0.notTaken)" })
        }
    }

    private func importFile(_ path: String, name: String?) async throws -> ImportDocument {
        let file = try ImportFile(path, input: context.input)
        let name = name ?? file.suggestedName
        let replaced = context.invocation.has(.replace) ? try await context.findOwn(named: name) : nil
        let stored = replaced.flatMap(\.privateKeyReference)
        var result = try parse(file, stored)
        if file.isWorldReadable {
            result.report.add(
                .warning,
                "everybody on this machine may read the file: chmod 600 \(file.path.shellQuotedPath)"
            )
        }
        warnOfUnknownTable(&result)
        if let stored, result.configuration.privateKeyReference == stored {
            result.report.add(.changed, key: "PrivateKey", "not in the file: the stored one is kept")
        }
        keepPresharedKeys(of: replaced, stored, &result)
        keepHooksWithKeys(of: replaced, stored, &result)
        if context.invocation.has(.strict), !result.report.warnings.isEmpty {
            throw ImportFailure(file.path, warnings: result.report.warnings)
        }
        let configuration = try document(result.configuration, named: name, replaced)
        let saved = try await context.save(
            configuration,
            generation: replaced?.generation ?? 0,
            secrets: result.secrets,
            whereTaken: "Add --replace to replace it, or --name to give another name.",
            whereRefused: "Give another one by --name NAME."
        )
        return ImportDocument(
            file: file.path,
            name: name,
            saved: saved,
            replaced: replaced != nil,
            configuration: result.configuration,
            report: result.report
        )
    }

    /// What of a parsed file is left once its secrets are in their envelope.
    private typealias Parsed = (
        configuration: WireGuardConfiguration, report: ImportReport, secrets: NewSecrets?
    )

    private func parse(_ file: ImportFile, _ storedPrivateKey: String?) throws -> Parsed {
        do {
            let result = try ConfigurationReader.read(file.bytes, storedPrivateKey: storedPrivateKey) { key in
                key.byteCount == X25519.keySize ? WireGuardPublicKey(bytes: X25519.publicKey(of: key)) : nil
            }
            return (result.configuration, result.report, try SecretEnvelope.seal(result.secrets))
        } catch let errors as ImportErrors {
            throw ImportFailure(file.path, errors)
        }
    }

    /// The start looks the name up again, and fails if it is still unknown.
    private func warnOfUnknownTable(_ result: inout Parsed) {
        guard case .name(let name)? = result.configuration.table else { return }
        let text: String
        switch RoutingTableNames.number(of: name) {
        case nil: text = "no table of this name is in \(RoutingTableNames.places): the tunnel won't start until one is"
        case .some(let number) where RoutingTableNames.isKernels(number):
            text = "is a name of the kernel's own table, into which no routes go: the tunnel won't start"
        default: return
        }
        let line = result.report.entries.last { $0.key == "Table" && $0.kind != .ignored }?.line ?? 0
        result.report.add(.warning, line: line, key: "Table", text)
    }

    /// Says what becomes of pre-shared keys that are stored and not in the file.
    ///
    /// A file without any secret, as `export` writes it, doesn't speak of them: they are kept. One with a private key says
    /// all that counts.
    private func keepPresharedKeys(of replaced: Configuration?, _ storedPrivateKey: String?, _ result: inout Parsed) {
        let stored = replaced?.wireGuard?.peers ?? []
        let isSilent = storedPrivateKey != nil && result.configuration.privateKeyReference == storedPrivateKey
        for index in result.configuration.peers.indices {
            let peer = result.configuration.peers[index]
            guard peer.presharedKeyReference == nil,
                let kept = stored.first(where: { $0.publicKey == peer.publicKey })?.presharedKeyReference
            else { continue }
            if isSilent { result.configuration.peers[index].presharedKeyReference = kept }
            let fate = isSilent ? "the stored one is kept" : "the stored one is given up"
            result.report.add(.changed, key: "PresharedKey", "peer \(index + 1): not in the file: \(fate)")
        }
    }

    /// Keeps hooks that the stored configuration has and a file without secrets can't: those with a key in them.
    private func keepHooksWithKeys(of replaced: Configuration?, _ storedPrivateKey: String?, _ result: inout Parsed) {
        guard storedPrivateKey != nil, result.configuration.privateKeyReference == storedPrivateKey else { return }
        for hook in replaced?.wireGuard?.hooksWithKeys ?? [] where !result.configuration.hooks.contains(hook) {
            result.configuration.hooks.append(hook)
            let text = "not in the file: the stored one, which holds what looks like a key, is kept"
            result.report.add(.changed, key: hook.event.rawValue, text)
        }
    }

    /// The configuration to save: a new one, or the stored one with another provider's configuration.
    private func document(
        _ wireGuard: WireGuardConfiguration,
        named name: String,
        _ replaced: Configuration?
    ) throws -> Configuration {
        let provider = Configuration.Provider(
            identifier: WireGuardProviderName.identifier,
            configuration: try JSONValue(encoding: wireGuard)
        )
        var configuration = replaced ?? Configuration(name: name, owner: .init(user: getuid()), provider: provider)
        configuration.provider = provider
        configuration.serverAddress = wireGuard.peers.lazy.compactMap(\.endpoint).first?.description
        return configuration
    }
}

extension Configuration {
    fileprivate var privateKeyReference: String? { wireGuard?.privateKeyReference }
}

extension ControlError {
    /// Whether another file of the same folder may fare better.
    fileprivate var concernsOneFile: Bool {
        switch name {
        case .notRunning, .unavailable, .versionMismatch: false
        default: true
        }
    }
}
