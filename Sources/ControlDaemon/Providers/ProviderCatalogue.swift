package import ControlAPI
import FoundationEssentials
import Glibc
import LinuxSystem

/// The providers that are installed: by descriptor files of root's, and the programs beside the running tunneld.
///
/// Folders are read anew each time; what a program said of itself is asked again when its file has changed.
package actor ProviderCatalogue {
    private let folders: [String]
    /// The folder of the running tunneld; nil: none is looked for there.
    private let programs: String?
    private var described: [String: (file: FileStamp, descriptor: ProviderDescriptor)] = [:]
    /// What is there and can't be used, by path, and why.
    private var faults: [String: String] = [:]

    /// Where packages put descriptors.
    package static let packaged = "/usr/lib/tunneld/providers"
    private static let programPrefix = "tunnel-provider-"

    package init(folders: [String], programs: String?) {
        self.folders = folders
        self.programs = programs
    }

    /// All that can be used, by identifier; of two with the same the first found: files before programs.
    package func installed() async -> [ProviderDescriptor] {
        faults = [:]
        var found: [String: ProviderDescriptor] = [:]
        for folder in folders {
            for name in names(in: folder) where name.hasSuffix(".json") {
                guard let descriptor = readFile("\(folder)/\(name)") else { continue }
                if found[descriptor.identifier] == nil { found[descriptor.identifier] = descriptor }
            }
        }
        if let programs {
            for name in names(in: programs) where Self.isProgram(name) {
                guard let descriptor = await describe("\(programs)/\(name)") else { continue }
                if found[descriptor.identifier] == nil { found[descriptor.identifier] = descriptor }
            }
        }
        return found.values.sorted { $0.identifier < $1.identifier }
    }

    /// What the last look found that can't be used, a sentence each.
    package var unusable: [String] { faults.sorted { $0.key < $1.key }.map { "\($0.key) can't be used: \($0.value)" } }

    /// The provider that a configuration names.
    ///
    /// - Throws: `providerUnknown`, which lists those that are installed; `versionMismatch`.
    package func descriptor(_ identifier: String) async throws(ControlError) -> ProviderDescriptor {
        let all = await installed()
        guard let descriptor = all.first(where: { $0.identifier == identifier }) else {
            let list = all.map(\.identifier).joined(separator: ", ")
            let reasons = [all.isEmpty ? "None is installed." : "Installed are: \(list).", lookedFor] + unusable
            throw ControlError(
                .providerUnknown,
                "There is no provider \(identifier.prefix(128)).",
                reason: reasons.joined(separator: " "),
                remedy:
                    "Install the provider\(Self.program(identifier).map { ", the program \($0)" } ?? ""), or correct "
                    + "the configuration's provider.identifier.",
                field: "provider.identifier"
            )
        }
        guard descriptor.protocol == ProviderCalls.version else {
            throw ControlError(
                .versionMismatch,
                "The provider \(identifier) can't be used.",
                reason: "It speaks version \(descriptor.protocol) of \(ProviderCalls.interface), and tunneld version "
                    + "\(ProviderCalls.version).",
                remedy: "Install the provider and tunneld of the same version."
            )
        }
        return descriptor
    }

    /// Has the provider judge its part of a configuration.
    ///
    /// - Returns: its warnings.
    /// - Throws: `configurationInvalid` with all faults; `providerFailed`.
    package func validate(
        _ configuration: JSONValue,
        by descriptor: ProviderDescriptor
    ) async throws(ControlError) -> [String] {
        guard let input = try? JSONEncoder().encode(configuration) else { return [] }
        let output = try await ProviderProgram.output(of: descriptor.executable, "--validate", input: Array(input))
        guard let verdict = try? JSONDecoder().decode(ProviderDescriptor.Validation.self, from: Data(output)) else {
            throw ControlError(
                .providerFailed,
                "The provider \(descriptor.identifier) can't judge the configuration.",
                reason: "What \(descriptor.executable) --validate printed isn't an answer.",
                remedy: "Install the provider again."
            )
        }
        if let first = verdict.errors.first {
            let list = verdict.errors.prefix(100).map { "\(Self.field($0)): \($0.message)" }
            throw ControlError(
                .configurationInvalid,
                "The configuration can't be saved: \(Self.field(first)) is wrong.",
                reason: list.joined(separator: "\n"),
                remedy: "Correct \(verdict.errors.count == 1 ? "it" : "these") and save again.",
                field: Self.field(first)
            )
        }
        return verdict.warnings.map { "\(Self.field($0)): \($0.message)" }
    }

    private static func field(_ fault: ProviderDescriptor.Fault) -> String {
        fault.field.isEmpty ? "provider.configuration" : "provider.configuration.\(fault.field)"
    }

    /// Where providers are looked for.
    private var lookedFor: String {
        let places =
            folders.map { "descriptors in \($0)" }
            + (programs.map { ["programs \(Self.programPrefix)* in \($0)"] } ?? [])
        return "Looked for: \(places.joined(separator: ", "))."
    }

    /// The program of a provider of ours.
    private static func program(_ identifier: String) -> String? {
        let parts = identifier.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.starts(with: ["org", "tunneld"]) else { return nil }
        return "\(programPrefix)\(parts[2].prefix(64))"
    }

    private static func isProgram(_ name: String) -> Bool {
        // Build folders hold "tunnel-provider-x.product" and the like beside the program.
        name.hasPrefix(programPrefix) && !name.contains(".")
    }

    private func names(in folder: String) -> [String] { ((try? FileSystem.names(inFolder: folder)) ?? []).sorted() }

    /// Only root's word counts: who names the program decides what tunneld starts.
    private func readFile(_ path: String) -> ProviderDescriptor? {
        guard let stamp = FileStamp(path), stamp.owner == 0, !stamp.isOpenToOthers else {
            faults[path] = "it isn't a file that only root can write."
            return nil
        }
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: 64 << 10),
            let descriptor = try? JSONDecoder().decode(ProviderDescriptor.self, from: Data(bytes)),
            descriptor.executable.hasPrefix("/")
        else {
            faults[path] = "it isn't a provider's descriptor."
            return nil
        }
        return descriptor
    }

    private func describe(_ program: String) async -> ProviderDescriptor? {
        // Beside tunneld lies what who installed tunneld put there: the same owner, or root.
        guard let stamp = FileStamp(program), stamp.isExecutable, !stamp.isOpenToOthers,
            stamp.owner == 0 || stamp.owner == FileStamp("/proc/self/exe")?.owner
        else {
            faults[program] = "it isn't a program that only root or tunneld's owner can write."
            return nil
        }
        if let known = described[program], known.file == stamp { return known.descriptor }
        let output: [UInt8]
        do throws(ControlError) {
            output = try await ProviderProgram.output(of: program, "--describe")
        } catch {
            faults[program] = [error.reason, error.remedy].compactMap(\.self).joined(separator: " ")
            return nil
        }
        guard var descriptor = try? JSONDecoder().decode(ProviderDescriptor.self, from: Data(output)) else {
            faults[program] = "what it printed isn't a provider's descriptor."
            return nil
        }
        descriptor.executable = program
        described[program] = (stamp, descriptor)
        return descriptor
    }
}

/// Whether a file is still the same, and whose it is.
private struct FileStamp: Equatable {
    let device: UInt
    let inode: UInt
    let size: Int
    let changed: Int
    let changedNanoseconds: Int
    let owner: UInt32
    let mode: UInt32

    init?(_ path: String) {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
        size = Int(status.st_size)
        changed = status.st_ctim.tv_sec
        changedNanoseconds = status.st_ctim.tv_nsec
        owner = status.st_uid
        mode = status.st_mode
    }

    var isExecutable: Bool { mode & 0o111 != 0 }
    var isOpenToOthers: Bool { mode & 0o002 != 0 }
}
