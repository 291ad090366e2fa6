import NetworkTypes
import Testing
import WireGuardCore

@testable import WireGuardProvider

@Suite struct EndpointMemoryTests {
    private let peer: PublicKey
    private let other: PublicKey
    private let first = IPAddress.v4(IPv4Address(192, 0, 2, 1))
    private let second = IPAddress.v4(IPv4Address(192, 0, 2, 2))

    init() throws {
        peer = try #require(PublicKey([UInt8](repeating: 1, count: 32)))
        other = try #require(PublicKey([UInt8](repeating: 2, count: 32)))
    }

    @Test func `each network has its own winners`() {
        var memory = EndpointMemory()
        memory.note(first, of: peer)
        #expect(memory.winner(of: peer) == nil, "it is in no network")
        memory.enter("home")
        memory.note(first, of: peer)
        memory.enter("office")
        #expect(memory.winner(of: peer) == nil)
        memory.note(second, of: peer)
        memory.note(second, of: other)
        memory.enter("home")
        #expect(memory.winner(of: peer) == first)
        #expect(memory.winner(of: other) == nil)
        memory.enter("office")
        memory.forget(peer)
        #expect(memory.winner(of: peer) == nil && memory.winner(of: other) == second)
        memory.enter("home")
        #expect(memory.winner(of: peer) == nil)
    }

    @Test func `the networks that it was in longest ago are forgotten`() {
        var memory = EndpointMemory()
        for number in 0...EndpointMemory.networkLimit {
            memory.enter("network \(number)")
            memory.note(first, of: peer)
            if number > 0 { memory.enter("network 1") }
        }
        memory.enter("network 1")
        #expect(memory.winner(of: peer) == first)
        memory.enter("network 0")
        #expect(memory.winner(of: peer) == nil)
    }
}
