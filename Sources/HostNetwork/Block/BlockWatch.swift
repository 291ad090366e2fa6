import CShims
import Glibc
import LinuxSystem
import Netlink

/// Tells what others do to our tables, and how the machine's links, their addresses and networks change, as far as the block
/// depends on them.
struct BlockWatch: Sendable {
    let rules: NetlinkSubscription
    let links: NetlinkSubscription

    /// For the events of a transaction with a chain on each of hundreds of links.
    private static let bufferSize: Int32 = 4 << 20

    /// - Throws: where the kernel has no nftables, or doesn't let us listen.
    init() throws(NetlinkError) {
        rules = try NetlinkSubscription(family: NETLINK_NETFILTER, groups: [UInt32(NFNLGRP_NFTABLES.rawValue)])
        SocketOption.setBuffers(Self.bufferSize, on: rules.descriptor.raw)
        links = try NetlinkSubscription(
            groups: [
                RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
            ]
        )
    }

    /// Reads what has happened to rules.
    ///
    /// - Returns: how many transactions, our own too, have changed one of our tables since; nil where nobody knows.
    func drainRules() -> Int? {
        var changes = BlockChanges()
        do throws(NetlinkError) {
            while let messages = try rules.receive() {
                for message in messages { changes.take(message) }
            }
        } catch {
            // So much happened that some of it was lost.
            while (try? rules.receive()) != nil {}
            return nil
        }
        return changes.count
    }

    /// Reads what has happened to links, addresses and the routes to links' own networks.
    ///
    /// - Returns: whether anything has.
    func drainLinks() -> Bool {
        var isNews = false
        do throws(NetlinkError) {
            while let messages = try links.receive() {
                isNews = isNews || messages.contains(where: Self.concernsLocalNetworks)
            }
        } catch {
            while (try? links.receive()) != nil {}
            return true
        }
        return isNews
    }

    /// Whether a message may change what is local: of routes only those on a link do, of which a tunnel's are none.
    static func concernsLocalNetworks(_ message: NetlinkMessage) -> Bool {
        guard [Int(RTM_NEWROUTE), Int(RTM_DELROUTE)].contains(Int(message.type)) else { return true }
        guard let route = try? KernelRoute(message) else { return false }
        return route.isOnLink && route.route.table == Route.mainTable
    }
}
