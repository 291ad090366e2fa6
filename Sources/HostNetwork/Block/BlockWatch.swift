import CShims
import Glibc
import LinuxSystem
import Netlink

/// Tells what others do to our tables, and how the machine's links change, as far as the block depends on them.
struct BlockWatch: Sendable {
    let rules: NetlinkSubscription
    let links: NetlinkSubscription

    /// For the events of a transaction with a chain on each of hundreds of links.
    private static let bufferSize: Int32 = 4 << 20

    /// - Throws: where the kernel has no nftables, or doesn't let us listen.
    init() throws(NetlinkError) {
        rules = try NetlinkSubscription(family: NETLINK_NETFILTER, groups: [UInt32(NFNLGRP_NFTABLES.rawValue)])
        SocketOption.setBuffers(Self.bufferSize, on: rules.descriptor.raw)
        links = try NetlinkSubscription(groups: [RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR])
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

    /// Reads what has happened to links and addresses.
    ///
    /// - Returns: whether anything has.
    func drainLinks() -> Bool {
        var isNews = false
        do throws(NetlinkError) {
            while try links.receive() != nil { isNews = true }
        } catch {
            while (try? links.receive()) != nil {}
            return true
        }
        return isNews
    }
}
