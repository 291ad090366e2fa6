import CShims
import Netlink
import Testing

@testable import HostNetwork

@Suite struct BlockChangesTests {
    private func message(_ type: Int, family: UInt8, _ attributes: [UInt8]) -> NetlinkMessage {
        NetlinkMessage(
            type: UInt16(NFNL_SUBSYS_NFTABLES) << 8 | UInt16(type),
            flags: 0,
            sequence: 0,
            payload: ([family, 0, 0, 0] + attributes)[...]
        )
    }

    private func change(of table: String, family: UInt8 = 1) -> NetlinkMessage {
        var attribute = [UInt8(4 + table.utf8.count + 1), 0, 1, 0] + Array(table.utf8) + [0]
        while attribute.count % 4 != 0 { attribute.append(0) }
        return message(7, family: family, attribute)
    }

    /// The end of a transaction: its number (attribute 1).
    private let end = NetlinkMessage(
        type: UInt16(NFNL_SUBSYS_NFTABLES) << 8 | 15,
        flags: 0,
        sequence: 0,
        payload: [0, 0, 0, 0, 8, 0, 1, 0, 0, 0, 0, 42]
    )

    private func count(_ messages: NetlinkMessage...) -> Int {
        var changes = BlockChanges()
        for message in messages { changes.take(message) }
        return changes.count
    }

    @Test func `each transaction that changes our tables counts once`() {
        #expect(count(change(of: "tunneld"), change(of: "tunneld", family: 5), end) == 1)
        #expect(count(change(of: "tunneld"), end, change(of: "mine"), end, change(of: "tunneld"), end) == 2)
        #expect(count(change(of: "tunneld", family: 2), change(of: "mine"), end, end) == 0)
    }

    @Test func `what can't be read counts, and what isn't of nftables doesn't`() {
        #expect(count(message(7, family: 1, [3, 0, 1, 0])) == 1)
        #expect(count(NetlinkMessage(type: 2, flags: 0, sequence: 0, payload: [])) == 0)
    }
}
