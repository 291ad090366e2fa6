import FoundationEssentials
import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct TunnelSlotTests {
    @Test func `the first tunnel takes the last block, each later one the block ahead`() throws {
        #expect(try TunnelSlot.freePriority([]).priority == 29_992)
        #expect(try TunnelSlot.freePriority([ours(29_994)]).priority == 29_984)
        #expect(try TunnelSlot.freePriority([ours(29_994), ours(29_984)]).priority == 29_976)
    }

    @Test func `blocks with rules of others are left out`() throws {
        let other = rule(29_985, owner: 4)
        #expect(try TunnelSlot.freePriority([ours(29_994), other]).priority == 29_976)
        #expect(try TunnelSlot.freePriority([rule(100, owner: 4), rule(32_766, owner: 2)]).priority == 29_992)
    }

    @Test func `with no block ahead a free one behind is taken and told`() throws {
        let slot = try TunnelSlot.freePriority([ours(10_000)])
        #expect(slot.priority == 10_008)
        #expect(slot.isBehindOthers)
    }

    @Test func `with no block left the start fails`() {
        let all = stride(from: 10_000, to: 30_000, by: 8).map { ours(UInt32($0)) }
        #expect(throws: NetworkSettingsError.self) { try TunnelSlot.freePriority(all) }
    }

    @Test func `a journal survives the way through JSON`() throws {
        var journal = NetworkJournal(interface: InterfaceIdentity(index: 7, name: "wg0"))
        journal.addresses = [
            InterfaceAddress(interface: 7, prefix: prefixes("fd00::2/64")[0], withoutPrefixRoute: true)
        ]
        journal.routes = [
            Route(to: .allIPv4, interface: 7, table: 0x7475_6e05), Route(unreachable: .allIPv6, table: 5),
        ]
        journal.rules = [
            RoutingRule(to: .allIPv4, priority: 10_010, table: 254, suppressPrefixLength: 0),
            RoutingRule(to: .allIPv6, priority: 10_011, table: 5, condition: .withoutOuterMark),
            RoutingRule(to: .allIPv4, priority: 9_900, table: 254, condition: .fromOuterPort(51820)),
        ]
        let data = try JSONEncoder().encode(journal)
        #expect(try JSONDecoder().decode(NetworkJournal.self, from: data) == journal)
        #expect(String(decoding: data, as: UTF8.self).contains("fd00::2\\/64"))
        #expect(journal.ownTable == 0x7475_6e05)
        #expect(journal.rulePriority == 10_008)
    }

    private func ours(_ priority: UInt32) -> KernelRule { rule(priority, owner: Ownership.routingProtocol) }

    private func rule(_ priority: UInt32, owner: UInt8) -> KernelRule {
        KernelRule(priority: priority, table: 254, owner: owner, rule: nil)
    }
}
