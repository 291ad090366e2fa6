package import Dispatch
package import Netlink

extension HostNetwork {
    /// A monitor, not yet resumed, that knows the interfaces to which settings are applied here as the tunnels' own.
    package nonisolated func monitor(
        on queue: DispatchQueue,
        handler: @escaping @Sendable (NetworkEvents) -> Void
    ) throws(NetlinkError) -> NetworkMonitor {
        try NetworkMonitor(on: queue, ownInterfaces: ownInterfaces, handler: handler)
    }
}
