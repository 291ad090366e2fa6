import NetworkTypes
import Testing
import WireGuardProvider

struct EndpointSearchTests {
    private let start = Instant.zero + .seconds(100)
    private let addresses = ["192.0.2.1", "2001:db8::1", "192.0.2.2"].compactMap { IPAddress($0) }

    @Test func `the name is asked for once and its first address called`() {
        var endpoint = EndpointSearch(.name("vpn.example", port: 51820))
        #expect(endpoint.current == nil)
        let asked = [endpoint.ask(now: start), endpoint.ask(now: start)]
        #expect(asked == [true, false])
        let first = endpoint.resolved(addresses, now: start)
        #expect(first == Endpoint("192.0.2.1:51820"))
        #expect(endpoint.current == first)
        #expect(endpoint.deadline == nil)
    }

    @Test func `each address is tried in turn and then the name is looked up anew`() {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        _ = endpoint.ask(now: start)
        _ = endpoint.resolved(addresses, now: start)
        let tried = [endpoint.advance(), endpoint.advance(), endpoint.advance()]
        #expect(tried == [Endpoint("[2001:db8::1]:1"), Endpoint("192.0.2.2:1"), nil])
        #expect(endpoint.current == Endpoint("192.0.2.2:1"))
        let asked = endpoint.ask(now: start)
        #expect(asked)
    }

    @Test func `after a silence the new list is begun behind the address that was silent`() {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        _ = endpoint.resolved(addresses, now: start)
        _ = endpoint.advance()
        let again = endpoint.resolved(addresses, now: start)
        #expect(again == Endpoint("192.0.2.2:1"))
        let tried = [endpoint.advance(), endpoint.advance(), endpoint.advance()]
        #expect(tried == [Endpoint("192.0.2.1:1"), Endpoint("[2001:db8::1]:1"), nil])
    }

    @Test func `after a sleep the name is looked up, and the address in use stays where it still has it`() throws {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        _ = endpoint.resolved(addresses, now: start)
        _ = endpoint.advance()
        endpoint.refresh()
        let asked = [endpoint.ask(now: start), endpoint.ask(now: start)]
        #expect(asked == [true, false])
        let same = endpoint.resolved(addresses, now: start)
        #expect(same == Endpoint("[2001:db8::1]:1"))
        // The others have their turn behind it, as ever.
        let tried = [endpoint.advance(), endpoint.advance(), endpoint.advance()]
        #expect(tried == [Endpoint("192.0.2.2:1"), Endpoint("192.0.2.1:1"), nil])
        // Once all were tried in vain it is no refreshment any more.
        let again = endpoint.resolved(addresses, now: start)
        #expect(again == Endpoint("[2001:db8::1]:1"))
        endpoint.refresh()
        let moved = endpoint.resolved([try #require(IPAddress("198.51.100.7"))], now: start)
        #expect(moved == Endpoint("198.51.100.7:1"))
    }

    @Test func `after a sleep a look-up that failed comes at once, and an address needs none`() {
        var name = EndpointSearch(.name("vpn.example", port: 1))
        _ = name.ask(now: start)
        name.failed(now: start)
        name.refresh()
        let asked = name.ask(now: start)
        #expect(asked)
        var address = EndpointSearch(.address(Endpoint(.v4(.loopback), port: 1)))
        address.refresh()
        #expect(address.deadline == nil)
    }

    @Test func `a name that moved is called at its new address`() throws {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        _ = endpoint.resolved(addresses, now: start)
        let moved = endpoint.resolved([try #require(IPAddress("198.51.100.7"))], now: start)
        #expect(moved == Endpoint("198.51.100.7:1"))
    }

    @Test func `a look-up that fails comes again after 5 s doubling to 60 s`() {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        var now = start
        var gaps: [Int64] = []
        for _ in 0..<7 {
            let asked = endpoint.ask(now: now)
            #expect(asked)
            endpoint.failed(now: now)
            #expect(endpoint.isUnresolved)
            let again = endpoint.deadline ?? .distantFuture
            let early = endpoint.ask(now: again + .milliseconds(-1))
            #expect(!early)
            gaps.append((again - now).nanoseconds / 1_000_000_000)
            now = again
        }
        #expect(gaps == [5, 10, 20, 40, 60, 60, 60])
    }

    @Test func `an empty list counts as a failure and keeps the addresses that were known`() {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        _ = endpoint.resolved(addresses, now: start)
        let none = endpoint.resolved([], now: start)
        #expect(none == nil)
        #expect(endpoint.current == Endpoint("192.0.2.1:1"))
        #expect(endpoint.deadline == start + .seconds(5))
    }

    @Test func `while no resolver can be asked it is tried every 2 s, for a minute`() {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        var now = start
        var gaps: [Int64] = []
        for _ in 0..<33 {
            _ = endpoint.ask(now: now)
            _ = endpoint.resolved([], isAnswer: false, now: now)
            let again = endpoint.deadline ?? now
            gaps.append((again - now).nanoseconds / 1_000_000_000)
            now = again
        }
        #expect(gaps == [Int64](repeating: 2, count: 30) + [10, 20, 40])
        // An answer, even that there is no such name, makes it a failure like any other.
        endpoint = EndpointSearch(.name("vpn.example", port: 1))
        _ = endpoint.ask(now: start)
        _ = endpoint.resolved([], isAnswer: true, now: start)
        #expect(endpoint.deadline == start + .seconds(5))
    }

    @Test func `the address that won in this network comes first, if the name still has it`() {
        var search = EndpointSearch(.name("vpn.example", port: 1))
        let won = addresses[1]
        let step1 = search.resolved(addresses, preferred: won, now: start)
        #expect(step1?.address == won)
        let step2 = search.advance()
        #expect(step2?.address == addresses[0], "then the others in their order")
        search = EndpointSearch(.name("vpn.example", port: 1))
        let gone = IPAddress.v4(IPv4Address(203, 0, 113, 9))
        let step3 = search.resolved(addresses, preferred: gone, now: start)
        #expect(step3?.address == addresses[0])
    }

    @Test func `in another network the name is looked up, and the address that works stays`() {
        var search = EndpointSearch(.name("vpn.example", port: 1))
        _ = search.ask(now: start)
        _ = search.resolved(addresses, now: start)
        let used = search.advance()
        search.networkChanged(isOther: false)
        #expect(search.deadline == nil, "a change elsewhere is no reason")
        search.networkChanged(isOther: true)
        let step4 = search.ask(now: start)
        #expect(step4)
        let step5 = search.resolved(addresses.reversed(), now: start)
        #expect(step5 == used)
        #expect(search.current == used)
        // One that the name has no more is given up; one that the peer was heard at stays.
        search.networkChanged(isOther: true)
        _ = search.ask(now: start)
        let new = IPAddress.v4(IPv4Address(203, 0, 113, 9))
        let step6 = search.resolved([new], now: start)
        #expect(step6?.address == new)
        let learned = Endpoint(.v4(IPv4Address(203, 0, 113, 77)), port: 9)
        search.learn(learned)
        search.networkChanged(isOther: true)
        _ = search.ask(now: start)
        let step7 = search.resolved([new], now: start)
        #expect(step7 == learned)
        let step8 = search.advance()
        #expect(step8 == nil, "behind it the name is asked for again")
        _ = search.ask(now: start)
        let step9 = search.resolved([new], now: start)
        #expect(step9?.address == new)
    }

    @Test func `a change of the network ends the wait after a failure`() {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        _ = endpoint.ask(now: start)
        endpoint.failed(now: start)
        endpoint.networkChanged(isOther: false)
        let asked = endpoint.ask(now: start)
        #expect(asked)
    }

    @Test func `addresses that repeat are tried once and too many are left out`() {
        var endpoint = EndpointSearch(.name("vpn.example", port: 1))
        let many = (0..<100).flatMap { [IPAddress.v4(.init(UInt32($0))), .v4(.init(UInt32($0)))] }
        _ = endpoint.resolved(many, now: start)
        var tried = 1
        while endpoint.advance() != nil { tried += 1 }
        #expect(tried == 16)
    }

    @Test func `while the peer answers its name is not looked up, and then again when it doesn't`() {
        var search = EndpointSearch(.name("vpn.example", port: 1))
        _ = search.resolved(addresses, now: start)
        for _ in 0..<3 { _ = search.advance() }
        _ = search.ask(now: start)
        search.failed(now: start)
        #expect(search.deadline != nil)
        search.answered()
        #expect(search.deadline == nil)
        let next = search.advance()
        #expect(next == nil)
        #expect(search.deadline != nil)
    }

    @Test func `an answer doesn't make up for a name that has no address yet`() {
        var search = EndpointSearch(.name("vpn.example", port: 1))
        _ = search.ask(now: start)
        search.failed(now: start)
        search.answered()
        #expect(search.deadline == start + .seconds(5))
    }

    @Test func `an address alone is never looked up and has no other`() throws {
        var search = EndpointSearch(.address(try #require(Endpoint("192.0.2.1:1"))))
        #expect(search.current == Endpoint("192.0.2.1:1"))
        #expect(search.deadline == nil)
        let next = search.advance()
        #expect(next == nil)
        #expect(search.current == Endpoint("192.0.2.1:1"))
    }

    @Test func `a peer that moved is called at both ends of its move in turn`() throws {
        var search = EndpointSearch(.address(try #require(Endpoint("192.0.2.1:1"))))
        search.learn(try #require(Endpoint("198.51.100.7:9")))
        #expect(search.current == Endpoint("198.51.100.7:9"))
        let tried = [search.advance(), search.advance(), search.advance()]
        #expect(tried == [Endpoint("192.0.2.1:1"), Endpoint("198.51.100.7:9"), Endpoint("192.0.2.1:1")])
    }

    @Test func `a hint is called before the name is known and stays the last resort`() throws {
        var search = EndpointSearch(.name("vpn.example", port: 1))
        search.learn(try #require(Endpoint("198.51.100.7:9")))
        #expect(search.current == Endpoint("198.51.100.7:9"))
        let asked = search.ask(now: start)
        #expect(asked)
        let first = search.resolved(addresses, now: start)
        #expect(first == Endpoint("192.0.2.1:1"))
        let tried = [search.advance(), search.advance(), search.advance(), search.advance()]
        #expect(
            tried == [Endpoint("[2001:db8::1]:1"), Endpoint("192.0.2.2:1"), Endpoint("198.51.100.7:9"), nil]
        )
    }

    @Test func `an authentic packet from one of the name's addresses makes it the one in use`() throws {
        var search = EndpointSearch(.name("vpn.example", port: 1))
        _ = search.resolved(addresses, now: start)
        search.learn(try #require(Endpoint("192.0.2.2:1")))
        #expect(search.current == Endpoint("192.0.2.2:1"))
        let next = search.advance()
        #expect(next == nil)
    }
}
