import ControlAPI
import EventLoop
import LinuxSystem
import NetworkTypes
import Synchronization
import VarlinkSocket

extension ProviderHost {
    /// A host with its sockets in the provider's folder; nobody is let in before `begin`.
    ///
    /// - Parameters: see `init`.
    static func open(
        _ folder: LaunchFolder,
        patience: Interval = .seconds(60),
        end: @escaping @Sendable (Int32) -> Void
    ) throws -> ProviderHost {
        let reference = HostReference<Tunnel>()
        var limits = ServerLimits()
        // A controller needs two, and one for each message, at most 32; some may belong to one that was killed.
        limits.connections = 80
        let service = try ProviderService.make(version: ProductVersion.version) {
            reference.host.withLock { $0.value }
        }
        let server = VarlinkServer(service, limits: limits)
        let user = folder.launch.controllerUser
        let control = try UnixListener(.stream, at: UnixSocketAddress(folder.controlPath), mode: 0o600)
        let descriptors = try UnixListener(.sequencedPacket, at: UnixSocketAddress(folder.descriptorsPath), mode: 0o600)
        let host = ProviderHost(
            nonce: folder.launch.nonce,
            patience: patience,
            executor: QueueExecutor(label: "control"),
            server: server,
            controlDoor: ControlDoor(control, allowedUser: user, server: server),
            descriptorDoor: DescriptorDoor(descriptors, allowedUser: user),
            end: end
        )
        reference.host.withLock { $0.value = host }
        return host
    }
}

/// The server's handlers need the host, and the host the server.
private final class HostReference<Tunnel: TunnelProvider>: Sendable {
    struct Host {
        weak var value: ProviderHost<Tunnel>?
    }

    let host = Mutex(Host())
}
