import CShims
import LinuxSystem
import Synchronization

/// A socket to rtnetlink in the network namespace of the thread that makes it.
///
/// Calls from several threads take turns.
package final class RouteSocket: NetlinkSocket {
    private let conversation: Mutex<NetlinkConversation<KernelTransport>>

    /// - Parameter protocolNumber: another one speaks to another part of the kernel (`GenericNetlink`).
    /// - Throws: `socket` when the process may not open one.
    package init(_ protocolNumber: Int32 = NETLINK_ROUTE) throws(NetlinkError) {
        conversation = Mutex(NetlinkConversation(try KernelTransport(protocolNumber)))
    }

    package func request(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        try request.reachFaultPoint()
        return try conversation.withLock { (conversation) throws(NetlinkError) in try conversation.request(request) }
    }

    package func dump(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        try conversation.withLock { (conversation) throws(NetlinkError) in try conversation.dump(request) }
    }

    package func batch(_ requests: [NetlinkRequest]) throws(NetlinkError) -> [NetlinkError?] {
        if FaultPoint.isArmed { return try oneByOne(requests) }
        return try conversation.withLock { (conversation) throws(NetlinkError) in try conversation.batch(requests) }
    }
    private func oneByOne(_ requests: [NetlinkRequest]) throws(NetlinkError) -> [NetlinkError?] {
        try requests.map { (request) throws(NetlinkError) -> NetlinkError? in
            do throws(NetlinkError) { try request.reachFaultPoint() } catch { return error }
            return try conversation.withLock { (conversation) throws(NetlinkError) in
                try conversation.batch([request]).first ?? nil
            }
        }
    }
}
