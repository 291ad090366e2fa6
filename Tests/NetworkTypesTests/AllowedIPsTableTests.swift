import NetworkTypes
import TestSupport
import Testing

@Suite struct AllowedIPsTableTests {
    @Test func `the longest prefix that holds an address decides, in both families`() throws {
        let table = try allowedIPs([
            ("0.0.0.0/0", "a"), ("10.0.0.0/8", "b"), ("10.1.0.0/16", "c"), ("10.1.2.3/32", "d"), ("::/0", "a"),
            ("fd00::/8", "b"), ("fd00:1::/32", "c"), ("fd00:1::1/128", "d"),
        ]).table()
        let cases = [
            ("192.0.2.1", "a"), ("9.255.255.255", "a"), ("10.0.0.0", "b"), ("10.1.0.0", "c"), ("10.1.2.2", "c"),
            ("10.1.2.3", "d"), ("10.1.2.4", "c"), ("10.2.0.0", "b"), ("10.255.255.255", "b"), ("11.0.0.0", "a"),
            ("255.255.255.255", "a"), ("::1", "a"), ("fd00::", "b"), ("fd00:1::", "c"), ("fd00:1::1", "d"),
            ("fd00:1::2", "c"), ("fd00:2::", "b"), ("fe00::", "a"),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "a"),
        ]
        for (address, owner) in cases {
            #expect(try table.owner(of: #require(IPAddress(address))) == owner, "\(address)")
        }
    }

    @Test func `what no prefix holds has no owner`() throws {
        let table = try allowedIPs([("10.0.0.0/8", "a"), ("255.255.255.255/32", "b"), ("0.0.0.0/32", "c")]).table()
        let cases: [(String, String?)] = [
            ("9.255.255.255", nil), ("11.0.0.0", nil), ("255.255.255.255", "b"), ("255.255.255.254", nil),
            ("0.0.0.0", "c"), ("0.0.0.1", nil), ("::", nil), ("::a00:1", nil),
        ]
        for (address, owner) in cases {
            #expect(try table.owner(of: #require(IPAddress(address))) == owner, "\(address)")
        }
        #expect(AllowedIPsTable<String>().owner(of: IPv4Address.loopback) == nil)
    }

    @Test func `a prefix given to another owner moves`() throws {
        var prefixes = try allowedIPs([("10.0.0.0/24", "a"), ("10.0.1.0/24", "a")])
        let moved = try #require(IPPrefix("10.0.0.9/24"))
        prefixes.assign(moved, to: "b")
        #expect(prefixes.prefixes(of: "a").map(\.description) == ["10.0.1.0/24"])
        #expect(prefixes.prefixes(of: "b").map(\.description) == ["10.0.0.0/24"])
        prefixes.remove(moved, from: "a")
        #expect(prefixes.table().owner(of: IPv4Address(10, 0, 0, 1)) == "b")
        prefixes.remove(moved, from: "b")
        #expect(prefixes.table().owner(of: IPv4Address(10, 0, 0, 1)) == nil)
        prefixes.removeAll(of: "a")
        #expect(prefixes.count == 0)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `random tables answer as a search through all prefixes does`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var all: [IPPrefix: Int] = [:]
        var prefixes = AllowedIPs<Int>()
        for owner in 0..<200 {
            let prefix = try #require(randomPrefix(&random))
            prefixes.assign(prefix, to: owner)
            all[prefix.network] = owner
        }
        let table = prefixes.table()
        let edges = all.keys.flatMap { [$0.address, lastAddress(of: $0)] }
        for address in edges + (0..<500).compactMap({ _ in randomPrefix(&random)?.address }) {
            let expected = all.filter { $0.key.contains(address) }.max { $0.key.length < $1.key.length }?.value
            #expect(table.owner(of: address) == expected, "\(address)")
        }
    }

    private func allowedIPs(_ list: [(String, String)]) throws -> AllowedIPs<String> {
        var prefixes = AllowedIPs<String>()
        for (text, owner) in list { try prefixes.assign(#require(IPPrefix(text)), to: owner) }
        return prefixes
    }

    /// Few distinct bytes, so that many prefixes lie in one another.
    private func randomPrefix(_ random: inout SeededGenerator) -> IPPrefix? {
        let count = Bool.random(using: &random) ? 4 : 16
        let bytes = (0..<count).map { _ in [0, 1, 128, 255].randomElement(using: &random) ?? UInt8(0) }
        return IPAddress(bytes: bytes).flatMap { IPPrefix($0, length: .random(in: 0...(count * 8), using: &random)) }
    }

    private func lastAddress(of prefix: IPPrefix) -> IPAddress {
        let bytes = prefix.address.bytes.enumerated().map { index, byte in
            let kept = min(8, max(0, prefix.length - index * 8))
            return kept == 8 ? byte : byte | UInt8(truncatingIfNeeded: 0xff >> kept)
        }
        return IPAddress(bytes: bytes) ?? prefix.address
    }
}
