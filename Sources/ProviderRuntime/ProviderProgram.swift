import ControlAPI
import FoundationEssentials
import Glibc
import LinuxSystem

/// A provider's program, but for what kind of tunnel it runs.
package enum ProviderProgram {
    /// Does what the arguments say.
    ///
    /// - Parameter arguments: without the program's name.
    /// - Returns: the exit status; `run` doesn't return, the process ends when the tunnel has.
    package static func main<Tunnel: TunnelProvider>(_ arguments: [String], as kind: Tunnel.Type) -> Int32 {
        StandardDescriptors.secure()
        CrashSignals.endAtOnce()
        guard let command = ProviderCommand(arguments) else {
            write(ProviderCommand.usage, to: STDERR_FILENO)
            return 2
        }
        do {
            switch command {
            case .describe: try describe(kind)
            case .validate: try validate(kind)
            case .selfCheck: try SelfCheck.restrictAndVerify()
            case .run(let directory): try run(kind, directory: directory)
            }
            return 0
        } catch let error as ControlError {
            report(error)
        } catch {
            report(ControlError(.providerFailed, "The provider can't start.", reason: "\(error)"))
        }
        return 1
    }

    private static func describe<Tunnel: TunnelProvider>(_ kind: Tunnel.Type) throws {
        var descriptor = Tunnel.descriptor
        descriptor.executable = try OwnProcess.executable()
        try printJSON(descriptor)
    }

    private static func validate<Tunnel: TunnelProvider>(_ kind: Tunnel.Type) throws {
        let input = OwnedDescriptor(adopting: STDIN_FILENO)
        let bytes = try FileSystem.contents(of: input, limit: 4 << 20)
        guard let configuration = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else {
            try printJSON(
                ProviderDescriptor.Validation(
                    errors: [ProviderDescriptor.Fault(field: "", message: "It isn't JSON; it should be an object.")],
                    warnings: []
                )
            )
            return
        }
        try printJSON(Tunnel.validate(configuration))
    }

    /// Serves the tunnel until it has ended.
    private static func run<Tunnel: TunnelProvider>(_ kind: Tunnel.Type, directory: String) throws {
        try SelfCheck.restrictAndVerify()
        let folder = try LaunchFolder(directory: directory)
        // Before the first other thread, so that all of them inherit the mask and the main thread alone takes them.
        let signals = TerminationSignals()
        let host = try ProviderHost<Tunnel>.open(folder) { status in exit(status) }
        Task {
            do {
                try await host.begin()
            } catch {
                report(ControlError(.providerFailed, "The provider can't start.", reason: "\(error)"))
                exit(1)
            }
        }
        while true {
            let name = signals.wait()
            Task { await host.terminate(reason: "The process got \(name).") }
        }
    }

    private static func printJSON(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        write(String(decoding: try encoder.encode(value), as: UTF8.self) + "\n", to: STDOUT_FILENO)
    }

    /// What failed, why, and what to do, a line each.
    private static func report(_ error: ControlError) {
        let lines = [error.message, error.reason, error.remedy].compactMap(\.self)
        write(lines.joined(separator: "\n") + "\n", to: STDERR_FILENO)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR { return }
            rest = rest.dropFirst(max(count, 0))
        }
    }
}
