import CShims
import Netlink

/// Counts the transactions of nftables that change one of our tables.
///
/// The kernel tells all changes of a transaction, and then that it is over (`NFT_MSG_NEWGEN`). Whose it was is no help: the
/// kernel names a thread by a number that a container doesn't know.
struct BlockChanges {
    /// `NFTA_TABLE_NAME`, `NFTA_CHAIN_TABLE`, `NFTA_RULE_TABLE`, `NFTA_SET_TABLE`, … (linux/netfilter/nf_tables.h): in every
    /// message the first attribute names the table.
    private static let tableName = NFTA_TABLE_NAME.rawValue
    /// `NFPROTO_INET` and `NFPROTO_NETDEV` (linux/netfilter.h, which can't be imported beside netinet/in.h).
    private static let families: Set<UInt8> = [1, 5]

    /// Whether the transaction that is being told changes one of ours.
    private var isTouched = false
    private(set) var count = 0

    /// Takes a message of the kernel's; one that can't be read counts as a change.
    mutating func take(_ message: NetlinkMessage) {
        guard message.type >> 8 == UInt16(NFNL_SUBSYS_NFTABLES) else { return }
        do throws(NetlinkError) {
            let (header, attributes) = try message.read(nfgenmsg.self)
            if Int(message.type & 0xff) == Int(NFT_MSG_NEWGEN.rawValue) {
                if isTouched { count += 1 }
                isTouched = false
            } else if Self.families.contains(header.nfgen_family), attributes.string(Self.tableName) == "tunneld" {
                isTouched = true
            }
        } catch {
            count += 1
        }
    }
}
