import HostNetwork
import NetworkTypes
import Testing

@testable import ControlDaemon

@Suite struct AppliedNetworkLossesTests {
    private let applied = AppliedNetwork(
        addresses: ["10.77.0.1/24"],
        routes: ["172.30.0.0/16", "10.77.0.2/32"],
        mtu: 1400,
        notes: ["before"]
    )

    private func journal() throws -> NetworkJournal {
        var journal = NetworkJournal(interface: InterfaceIdentity(index: 7, name: "home-1"))
        journal.addresses = [InterfaceAddress(interface: 7, prefix: try #require(IPPrefix("10.77.0.1/24")))]
        journal.routes = [Route(to: try #require(IPPrefix("172.30.0.0/16")), interface: 7)]
        return journal
    }

    @Test func `what is all there is shown as it was put in force`() throws {
        let journal = try journal()
        let losses = NetworkLosses(of: journal, addresses: journal.addresses, routes: journal.routes)
        #expect(applied.without(losses, of: journal, mtu: 1400) == applied)
    }

    @Test func `a route that was removed is not shown, and told`() throws {
        let journal = try journal()
        let present = applied.without(
            NetworkLosses(of: journal, addresses: journal.addresses, routes: []),
            of: journal,
            mtu: 1280
        )
        #expect(present.routes == ["10.77.0.2/32"] && present.addresses == ["10.77.0.1/24"] && present.mtu == 1280)
        #expect(
            present.notes == [
                "before", "The route to 172.30.0.0/16 was removed from outside.",
                "The MTU was 1400, and was changed to 1280 from outside.",
            ]
        )
    }

    @Test func `with an address goes what led into the tunnel by its network`() throws {
        let journal = try journal()
        let losses = NetworkLosses(of: journal, addresses: [], routes: journal.routes)
        let present = applied.without(losses, of: journal, mtu: 1400)
        #expect(present.addresses.isEmpty && present.routes == ["172.30.0.0/16"])
        #expect(present.notes.last == "The address 10.77.0.1/24 was taken from the interface from outside.")
    }
}
