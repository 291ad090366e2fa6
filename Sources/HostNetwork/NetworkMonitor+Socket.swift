package import Dispatch
package import Netlink

extension NetworkMonitor {
    /// The same with a socket of its own.
    package convenience init(
        on queue: DispatchQueue,
        handler: @escaping @Sendable (NetworkEvents) -> Void
    ) throws(NetlinkError) {
        try self.init(on: queue, socket: RouteSocket(), handler: handler)
    }
}
