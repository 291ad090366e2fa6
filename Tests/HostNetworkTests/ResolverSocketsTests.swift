import NetworkTypes
import Testing

@testable import HostNetwork

/// What c-ares is told in place of servers with a zone, and back.
@Suite struct ResolverSocketsTests {
    private func endpoint(_ text: String) throws -> Endpoint { try #require(Endpoint(text: text)) }

    @Test func `servers with the same address on two links stay two, and others are named by their own`() throws {
        let servers = try ["[fe80::1%1]:53", "192.0.2.1:53", "[fe80::1%7]:5353", "[2001:db8::1]:53"].map(endpoint)
        let sockets = ResolverSockets(mark: 0, servers: servers)
        #expect(
            sockets.namedServers
                == (try ["[100::1]:53", "192.0.2.1:53", "[100::2]:5353", "[2001:db8::1]:53"].map(endpoint))
        )
        #expect(sockets.namedServers.map(sockets.server(named:)) == servers)
        #expect(servers.map(sockets.name(of:)) == sockets.namedServers)
    }

    @Test func `an address that looks like a name and is none is left as it is`() throws {
        let sockets = ResolverSockets(mark: 0, servers: [try endpoint("[fe80::1%1]:53")])
        for text in ["[100::2]:53", "[fe80::2%1]:53", "[fe80::1%2]:53"] {
            #expect(sockets.server(named: try endpoint(text)) == (try endpoint(text)))
            #expect(sockets.name(of: try endpoint(text)) == (try endpoint(text)))
        }
    }
}
