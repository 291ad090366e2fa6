import LinuxSystem
import Testing
import VarlinkCore
@testable import VarlinkSocket

@Suite struct `Varlink server` {
    @Test func `a call is answered with the method's result`() async throws {
        let service = try await TestService()
        let connection = try await service.connect()
        let reply: [String: Int] = try await connection.call("org.tunneld.Test.Add", ["a": 40, "b": 2])
        #expect(reply == ["sum": 42])
    }

    @Test func `a stream's replies come in order and end`() async throws {
        let service = try await TestService()
        let connection = try await service.connect()
        var numbers: [Int] = []
        for try await reply in try await connection.callMore("org.tunneld.Test.Count", ["to": 1000]) {
            numbers.append(try #require(try reply.decode([String: Int].self)["number"]))
        }
        #expect(numbers == Array(1...1000))
    }
}
