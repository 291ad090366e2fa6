import ControlAPI
import EventLoop
import FoundationEssentials
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
import VarlinkSocket

/// A provider's program, but for what kind of tunnel it runs.
package enum ProviderProgram {
    /// Does what the arguments say.
    ///
    /// - Parameter arguments: without the program's name.
    /// - Returns: the exit status; `run` doesn't return, the process ends when the tunnel has.
    package static func main<Tunnel: TunnelProvider>(_ arguments: [String], as kind: Tunnel.Type) -> Int32 {
        StandardDescriptors.secure()
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
        let host = try open(kind, folder)
        while true {
            let name = signals.wait()
            Task { await host.terminate(reason: "The process got \(name).") }
        }
    }

    private static func open<Tunnel: TunnelProvider>(
        _ kind: Tunnel.Type,
        _ folder: LaunchFolder
    ) throws -> ProviderHost<Tunnel> {
        let reference = HostReference<Tunnel>()
        var limits = ServerLimits()
        limits.connections = 16
        let service = try ProviderService.make(version: ProductVersion.version) { reference.host.withLock { $0 } }
        let server = VarlinkServer(service, limits: limits)
        let user = folder.launch.controllerUser
        let control = try UnixListener(.stream, at: UnixSocketAddress(folder.controlPath), mode: 0o600)
        let descriptors = try UnixListener(.sequencedPacket, at: UnixSocketAddress(folder.descriptorsPath), mode: 0o600)
        let host = ProviderHost<Tunnel>(
            nonce: folder.launch.nonce,
            executor: QueueExecutor(label: "control"),
            server: server,
            controlDoor: ControlDoor(control, allowedUser: user, server: server),
            descriptorDoor: DescriptorDoor(descriptors, allowedUser: user)
        ) { status in exit(status) }
        reference.host.withLock { $0 = host }
        Task {
            do {
                try await host.begin()
            } catch {
                report(ControlError(.providerFailed, "The provider can't start.", reason: "\(error)"))
                exit(1)
            }
        }
        return host
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

/// The server's handlers need the host, and the host the server.
private final class HostReference<Tunnel: TunnelProvider>: Sendable {
    let host = Mutex<ProviderHost<Tunnel>?>(nil)
}
