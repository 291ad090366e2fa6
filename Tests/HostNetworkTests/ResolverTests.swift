import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
import Testing

@testable import HostNetwork

@Suite struct ResolverTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1:5"),
        ("2001:db8::1", "[2001:db8::1]:5"),
        ("fe80::1%lo", "[fe80::1%1]:5"),
        ("fe80::1%7", "[fe80::1%7]:5"),
    ])
    func `an address is its own answer`(host: String, answer: String) async throws {
        let found = try await Resolver(mark: 0, servers: []).lookUp(host, port: 5)
        #expect(found == [try #require(Endpoint(answer))])
    }

    @Test func `both families are found`() async throws {
        let server = try NameServer { name in
            name == "gateway.example"
                ? .addresses([IPAddress("192.0.2.7"), IPAddress("2001:db8::7")].compactMap { $0 }) : .noSuchName
        }
        let resolver = Resolver(servers: [server.endpoint])
        let found = try await resolver.lookUp("gateway.example", port: 51820)
        #expect(Set(found.map(\.description)) == ["192.0.2.7:51820", "[2001:db8::7]:51820"])
    }

    @Test func `the queries carry the mark`() async throws {
        try await Namespace.run { space in
            let server = try NameServer(at: IPv4Address(127, 0, 0, 9)) { _ in .addresses([.v4(.loopback)]) }
            // Without the mark there is no way to the server.
            space.ip("rule add pref 5 fwmark 0/0x8000000 to 127.0.0.9 unreachable")
            space.ip("rule add pref 10 lookup local")
            space.ip("rule del pref 0 lookup local")
            let marked = try ResolverQuery(
                "gateway.example",
                port: 1,
                mark: Ownership.outerMark,
                resolvers: UnderlayResolvers(servers: [server.endpoint], searchDomains: [])
            )
            #expect(try marked.run().get() == [Endpoint(.v4(.loopback), port: 1)])
            let plain = try ResolverQuery(
                "gateway.example",
                port: 1,
                mark: 0,
                resolvers: UnderlayResolvers(servers: [server.endpoint], searchDomains: [])
            )
            #expect(throws: ResolverError.self) { try plain.run().get() }
        }
    }

    @Test func `whom to ask is found out for each name, and a short one is looked for below the domains`() async throws
    {
        let server = try NameServer { name in
            name == "gateway.lan.example" ? .addresses([.v4(.loopback)]) : .noSuchName
        }
        let resolver = Resolver { host throws(DNSError) in
            guard host == "gateway" else { throw DNSError("Nobody.", why: "Why.", remedy: "Do.") }
            return UnderlayResolvers(servers: [server.endpoint], searchDomains: ["lan.example"])
        }
        #expect(try await resolver.lookUp("gateway", port: 7) == [Endpoint(.v4(.loopback), port: 7)])
        await #expect(throws: ResolverError.noResolver("Nobody. Why. Do.")) {
            try await resolver.lookUp("other", port: 7)
        }
    }

    @Test func `a name that doesn't exist is told as such`() async throws {
        let server = try NameServer { _ in .noSuchName }
        await #expect(throws: ResolverError.noSuchName) {
            try await Resolver(servers: [server.endpoint]).lookUp("nowhere.example.", port: 1)
        }
        for name in ["", String(repeating: "a", count: 254), "a\0b", "fe80::1%nosuchlink"] {
            await #expect(throws: ResolverError.noSuchName) {
                try await Resolver(servers: [server.endpoint]).lookUp(name, port: 1)
            }
        }
    }

    @Test func `a refusal and a closed port are told as having no resolver`() async throws {
        let server = try NameServer { _ in .refused }
        for endpoint in [server.endpoint, Endpoint(.v4(.loopback), port: 1)] {
            do {
                _ = try await Resolver(servers: [endpoint]).lookUp("gateway.example", port: 1)
                Issue.record("found something")
            } catch {
                guard case .noResolver = error else {
                    Issue.record("\(error)")
                    continue
                }
            }
        }
    }

    @Test func `a silent resolver costs at most five seconds`() async throws {
        let server = try NameServer { _ in .silence }
        let clock = ContinuousClock()
        let start = clock.now
        await #expect(throws: ResolverError.timeout) {
            try await Resolver(servers: [server.endpoint]).lookUp("gateway.example", port: 1)
        }
        #expect(clock.now - start < .seconds(25))
    }

    @Test func `a cancelled look-up ends at once and makes place for the next`() async throws {
        let server = try NameServer { $0 == "gateway.example" ? .silence : .addresses([.v4(.loopback)]) }
        let resolver = Resolver(servers: [server.endpoint], limit: 1)
        let stuck = Task { try await resolver.lookUp("gateway.example", port: 1) }
        while server.queries == 0 { await Task.yield() }
        stuck.cancel()
        let result = await stuck.result
        #expect(throws: ResolverError.cancelled) { try result.get() }
        #expect(try await resolver.lookUp("other.example", port: 2) == [Endpoint(.v4(.loopback), port: 2)])
    }

    @Test func `the names in the hosts file are found without a resolver`() async throws {
        let found = try await Resolver(servers: [Endpoint(.v4(.loopback), port: 1)]).lookUp("localhost", port: 3)
        #expect(found.contains(Endpoint(.v4(.loopback), port: 3)))
    }
}

/// A resolver on the loopback interface that answers as it is told.
final class NameServer: Sendable {
    enum Answer: Sendable {
        case addresses([IPAddress])
        case noSuchName, refused, silence
    }

    let endpoint: Endpoint
    private let socket: SharedDescriptor
    private let count = Atomic(0)

    /// The questions so far.
    var queries: Int { count.load(ordering: .relaxed) }

    init(at address: IPv4Address = .loopback, _ answer: @escaping @Sendable (String) -> Answer) throws {
        let raw = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        socket = SharedDescriptor(OwnedDescriptor(adopting: raw))
        let any = Endpoint(.v4(address), port: 0)
        try check("bind") { unsafe any.withSocketAddress { unsafe bind(raw, $0, $1) } }
        endpoint = Endpoint(.v4(address), port: try SocketOption.localPort(of: raw))
        let thread = try socket.duplicate()
        startThread { [weak self] in
            let raw = thread.raw
            while NameServer.serve(raw, answer) { _ = self?.count.add(1, ordering: .relaxed) }
        }
    }

    deinit { shutdown(socket.raw, Int32(SHUT_RD)) }

    /// Answers one question; false when the socket was shut down.
    private static func serve(_ raw: Int32, _ answer: (String) -> Answer) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 512)
        var from = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return unsafe withUnsafeMutablePointer(to: &from) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                let size = unsafe recvfrom(raw, &buffer, buffer.count, 0, name, &length)
                guard size >= 12 else { return false }
                if let reply = reply(to: Array(buffer[..<size]), answer) {
                    _ = unsafe sendto(raw, reply, reply.count, 0, name, length)
                }
                return true
            }
        }
    }

    /// RFC 1035, section 4: the question copied, then the records of its type.
    private static func reply(to query: [UInt8], _ answer: (String) -> Answer) -> [UInt8]? {
        var labels: [String] = []
        var index = 12
        while index < query.count, query[index] != 0 {
            let end = index + 1 + Int(query[index])
            labels.append(String(decoding: query[(index + 1)..<end], as: UTF8.self))
            index = end
        }
        let type = query[index + 2]
        let question = query[12..<(index + 5)]
        var records: [IPAddress] = []
        var code: UInt8 = 0
        switch answer(labels.joined(separator: ".")) {
        case .silence: return nil
        case .noSuchName: code = 3
        case .refused: code = 5
        case .addresses(let addresses): records = addresses.filter { type == ($0.isIPv6 ? 28 : 1) }
        }
        var reply = query[..<2] + [0x81, 0x80 | code, 0, 1, 0, UInt8(records.count), 0, 0, 0, 0] + question
        for record in records {
            reply += [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, UInt8(record.bytes.count)] + record.bytes
        }
        return Array(reply)
    }
}
