import CShims
import Glibc
import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct AddressLabelTests {
    private let kernel = FakeKernel()
    private let settings = TunnelNetworkSettings(
        interface: InterfaceIdentity(index: 7, name: "wg0"),
        addresses: prefixes("10.7.0.2/24", "fd00:7::2/64", "fe80::7/64", "2001:db8::7/128")
    )
    private var applier: NetworkApplier { NetworkApplier(socket: kernel, controls: FakeControls()) }

    private var wanted: Set<AddressLabel> {
        Set(prefixes("fd00:7::2/64", "2001:db8::7/128").map { AddressLabel(interface: 7, address: $0.address) })
    }

    /// C045.
    @Test func `each address of IPv6 but link-local ones has a label, from before it is there to after it has gone`()
        throws
    {
        var journal = NetworkJournal()
        var onDisk: NetworkJournal?
        _ = try applier.apply(settings, journal: &journal) { onDisk = onDisk ?? $0 }
        #expect(kernel.tables.labels == wanted)
        #expect(Set(journal.labels) == wanted && Set(onDisk?.labels ?? []) == wanted)

        let state = try NetworkState(settings.interface, NetworkJournal(), KernelTables(socket: FakeKernel()))
        var facts = NetworkPlan.Facts(
            mtu: 1420,
            ipv6: .usable,
            hasStrictReversePathFilter: false,
            ownTable: Ownership.tables.lowerBound,
            rulePriority: Ownership.priorities.lowerBound
        )
        facts.hasAddressLabels = true
        let plan = try NetworkPlan(settings, facts)
        let steps = NetworkDifference(from: state, to: plan, mtu: 1420, interface: settings.interface).steps
        let kinds = steps.map { $0.first?.request.type }
        let label = try #require(kinds.firstIndex(of: UInt16(RTM_NEWADDRLABEL)))
        #expect(try label < #require(kinds.firstIndex(of: UInt16(RTM_NEWADDR))))

        var smaller = settings
        smaller.addresses.removeLast()
        let now = try NetworkState(settings.interface, journal, KernelTables(socket: kernel))
        let fewer = try NetworkPlan(smaller, facts)
        let back = NetworkDifference(from: now, to: fewer, mtu: 1420, interface: settings.interface).steps
            .map { $0.first?.request.type }
        let address = try #require(back.firstIndex(of: UInt16(RTM_DELADDR)))
        #expect(try address < #require(back.firstIndex(of: UInt16(RTM_DELADDRLABEL))))
        _ = try applier.apply(smaller, journal: &journal) { _ in }
        #expect(kernel.tables.labels.map(\.address.description) == ["fd00:7::2"])
    }

    @Test func `a kernel without labels, or that refuses them, has all else applied`() throws {
        kernel.change { $0.hasLabels = false }
        var journal = NetworkJournal()
        _ = try applier.apply(settings, journal: &journal) { _ in }
        #expect(kernel.tables.addresses.count == 4 && journal.labels.isEmpty)

        let other = FakeKernel()
        other.fail(at: 2, with: EPERM)
        journal = NetworkJournal()
        _ = try NetworkApplier(socket: other, controls: FakeControls()).apply(settings, journal: &journal) { _ in }
        #expect(other.tables.addresses.count == 4)
        #expect(other.tables.labels == Set(journal.labels) && journal.labels.count == 1)
    }

    @Test func `labels are taken back also when their link has gone, and those that no journal names by repair`() throws
    {
        var journal = NetworkJournal()
        _ = try applier.apply(settings, journal: &journal) { _ in }
        kernel.change {
            $0.links[7] = nil
            $0.addresses = []
            $0.labels.insert(AddressLabel(interface: 9, address: .v6(.any)))
        }
        #expect(applier.repair(keeping: [journal]).removed == ["label of ::"])
        #expect(kernel.tables.labels == wanted)
        #expect(applier.revert(&journal).isComplete)
        #expect(kernel.tables.labels.isEmpty && journal.isEmpty)
    }

    @Test func `a label that a change left on the interface goes with the next, and others' labels are none of ours`()
        throws
    {
        let left = AddressLabel(interface: 7, address: .v6(.any))
        kernel.change { $0.labels.insert(left) }
        var journal = NetworkJournal()
        _ = try applier.apply(settings, journal: &journal) { _ in }
        #expect(kernel.tables.labels == wanted)

        #expect(try AddressLabel(left.add.message) == left)
        var body = left.add.body
        let number = (0..<4).map { UInt8(truncatingIfNeeded: Ownership.addressLabel >> ($0 * 8)) }
        let label = body.indices.dropLast(3).last { body[$0...].starts(with: number) }
        body[try #require(label)] ^= 1
        let other = NetlinkMessage(type: UInt16(RTM_NEWADDRLABEL), flags: 0, sequence: 0, payload: body[...])
        #expect(try AddressLabel(other) == nil)
    }

    @Test func `a label that somebody removed is missing, and comes back`() throws {
        var journal = NetworkJournal()
        _ = try applier.apply(settings, journal: &journal) { _ in }
        kernel.change { $0.labels = $0.labels.filter { $0.address.description == "fd00:7::2" } }
        let missing = try KernelTables(socket: kernel).missing(of: journal, routes: [])
        #expect(missing.labels.map(\.description) == ["2001:db8::7"] && !missing.isEmpty)
        _ = try applier.apply(settings, restoring: true, journal: &journal) { _ in }
        #expect(kernel.tables.labels == wanted)
    }
}
