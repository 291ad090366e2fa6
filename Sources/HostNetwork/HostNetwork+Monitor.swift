package import Dispatch
package import Netlink
package import NetworkTypes
package import SystemBus

extension HostNetwork {
    /// A monitor, not yet resumed, that knows the interfaces to which settings are applied here as the tunnels' own.
    package nonisolated func monitor(
        on queue: DispatchQueue,
        handler: @escaping @Sendable (NetworkEvents) -> Void
    ) throws(NetlinkError) -> NetworkMonitor {
        try NetworkMonitor(on: queue, ownInterfaces: ownInterfaces, handler: handler)
    }

    /// The ways that outer packets take to endpoints.
    package nonisolated func path(
        to endpoints: [Endpoint],
        by passage: OuterPassage,
        from port: UInt16?
    ) async throws(NetlinkError) -> OuterPath {
        try SnapshotReader(
            socket: reader.socket,
            ownInterfaces: ownInterfaces,
            nameServers: NameServerReader(bus: nil),
            metered: MeteredReader(bus: nil)
        ).path(to: endpoints, by: passage, from: port)
    }

    /// A reader of what is around the tunnels, that tells the interfaces of tunnels from others.
    ///
    /// - Parameter bus: where resolved and NetworkManager are asked.
    package nonisolated func snapshotReader(bus: SystemBus) throws(NetlinkError) -> SnapshotReader {
        try SnapshotReader(
            ownInterfaces: ownInterfaces,
            nameServers: NameServerReader(bus: bus),
            metered: MeteredReader(bus: bus)
        )
    }
}
