import LinuxSystem
import NetworkTypes
import TestSupport
import Testing
import VarlinkCore
@testable import VarlinkSocket

@Suite struct `Varlink connection` {
    @Test func `nobody listening is told with the path and the reason`() async throws {
        let folder = try TemporaryFolder()
        let error = await #expect(throws: VarlinkClientError.self) {
            try await VarlinkConnection.connect(to: folder.path + "/nobody")
        }
        #expect("\(String(describing: error))".contains("No such file or directory"))
    }

    @Test func `an error reply is thrown as it was sent`() async throws {
        let service = try await TestService()
        let connection = try await service.connect()
        await #expect(throws: VarlinkError("org.tunneld.Test.Refused", ["message": "no"])) {
            let _: NoParameters = try await connection.call("org.tunneld.Test.Fail")
        }
    }

    @Test func `a call that isn't answered in time fails, and later ones still get their own answers`() async throws {
        let (connection, peer) = try await connectionToNobody()
        let slow = Task {
            let _: NoParameters = try await connection.call("a.b.Slow", timeout: .milliseconds(30))
        }
        await #expect(throws: VarlinkClientError.timedOut) { try await slow.value }
        async let quick: [String: Int] = connection.call("a.b.Quick")
        #expect(await eventually { await connection.pending.count == 2 })
        try peer.reply("{\"parameters\":{\"late\":1}}")
        try peer.reply("{\"parameters\":{\"quick\":2}}")
        #expect(try await quick == ["quick": 2])
    }

    @Test func `a cancelled call ends at once`() async throws {
        let (connection, peer) = try await connectionToNobody()
        defer { withExtendedLifetime(peer) {} }
        let task = Task { let _: NoParameters = try await connection.call("a.b.Never") }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `calls that wait fail when the service goes, and the owner is told`() async throws {
        let (connection, peer) = try await connectionToNobody()
        let closed = Counter()
        await connection.onClose { closed.add() }
        let call = Task { let _: NoParameters = try await connection.call("a.b.Never") }
        let stream = Task {
            for try await _ in try await connection.callMore("a.b.Never") {}
        }
        #expect(await eventually { await connection.pending.count == 2 })
        UnixSocket.shutDown(peer.descriptor.raw)
        await #expect(throws: VarlinkClientError.disconnected) { try await call.value }
        await #expect(throws: VarlinkClientError.disconnected) { try await stream.value }
        #expect(closed.value == 1)
        await #expect(throws: VarlinkClientError.disconnected) {
            let _: NoParameters = try await connection.call("a.b.Late")
        }
        await connection.onClose { closed.add() }
        #expect(closed.value == 2)
    }

    @Test(arguments: [false, true])
    func `what the service said before it closed is heard, also by who calls later`(later: Bool) async throws {
        let (connection, peer) = try await connectionToNobody()
        try peer.reply("{\"error\":\"org.tunneld.LimitExceeded\"}")
        UnixSocket.shutDown(peer.descriptor.raw)
        if later { #expect(await eventually { await connection.end != nil }) }
        await #expect(throws: VarlinkError("org.tunneld.LimitExceeded")) {
            let _: NoParameters = try await connection.call("a.b.Any")
        }
    }

    @Test(arguments: [
        (
            "{\"parameters\":{}",
            VarlinkClientError.malformedReply(.malformed(at: 16, expected: "a comma or the end of the object"))
        ),
        ("{\"parameters\":[]}", .malformedReply(.wrongType(member: "parameters", expected: "an object"))),
        ("{\"parameters\":{},\"continues\":true}", .unexpectedReply),
    ])
    func `a service that doesn't keep to the protocol is left`(reply: String, error: VarlinkClientError) async throws {
        let (connection, peer) = try await connectionToNobody()
        let call = Task { let _: NoParameters = try await connection.call("a.b.Any") }
        #expect(await eventually { await connection.pending.count == 1 })
        try peer.reply(reply)
        // The caller of an ordinary call learns only that the connection is over, or how.
        await #expect(throws: error) { try await call.value }
        #expect(await connection.end as? VarlinkClientError == error)
    }

    @Test func `a reply to nothing ends the connection`() async throws {
        let (connection, peer) = try await connectionToNobody()
        try peer.reply("{}")
        #expect(await eventually { await connection.end as? VarlinkClientError == .unexpectedReply })
    }

    @Test func `a request beyond the limit isn't sent`() async throws {
        let service = try await TestService()
        let connection = try await VarlinkConnection.connect(to: service.path, messageLimit: 100_000)
        await #expect(throws: VarlinkClientError.requestTooLong(limit: 100_000)) {
            let _: NoParameters = try await connection.call(
                "org.tunneld.Test.Echo",
                ["text": String(repeating: "x", count: 100_000)]
            )
        }
        let longest = String(repeating: "x", count: 99_900)
        let echo: [String: String] = try await connection.call("org.tunneld.Test.Echo", ["text": longest])
        #expect(echo["text"] == longest)
    }

    @Test func `a stream without a first reply in time ends`() async throws {
        let (connection, peer) = try await connectionToNobody()
        defer { withExtendedLifetime(peer) {} }
        let stream = try await connection.callMore("a.b.Never", firstReplyTimeout: .milliseconds(30))
        await #expect(throws: VarlinkClientError.timedOut) { for try await _ in stream {} }
    }

    @Test func `a stream's error comes after its replies`() async throws {
        let (connection, peer) = try await connectionToNobody()
        let stream = try await connection.callMore("a.b.Some", firstReplyTimeout: .seconds(10))
        try peer.reply("{\"parameters\":{\"n\":1},\"continues\":true}")
        try peer.reply("{\"error\":\"a.b.Over\"}")
        let iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next()?.decode([String: Int].self) == ["n": 1])
        await #expect(throws: VarlinkError("a.b.Over")) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        // The connection is free again.
        async let next: [String: Int] = connection.call("a.b.Next")
        #expect(await eventually { await connection.pending.count == 1 })
        try peer.reply("{\"parameters\":{\"n\":2}}")
        #expect(try await next == ["n": 2])
    }

    @Test func `a consumer that is slow holds the service up, and loses nothing`() async throws {
        let service = try await TestService()
        let connection = try await service.connect()
        let stream = try await connection.callMore("org.tunneld.Test.Count", ["to": 5000])
        #expect(await eventually { await !connection.isReading })
        var expected = 1
        for try await reply in stream {
            try #require(try reply.decode([String: Int].self) == ["number": expected])
            expected += 1
        }
        #expect(expected == 5001)
    }

    @Test func `a stream that is dropped before its end closes the connection`() async throws {
        let service = try await TestService()
        let connection = try await service.connect()
        var stream: ReplyStream? = try await connection.callMore("org.tunneld.Test.Hang")
        #expect(await eventually { service.hangs.value == 1 })
        let waiting = Task { [iterator = stream?.makeAsyncIterator()] in try await iterator?.next() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(await connection.end == nil)
        stream = nil
        #expect(await eventually { service.cancelledHangs.value == 1 })
        #expect(await connection.end as? VarlinkClientError == .disconnected)
    }

    @Test func `a connection that nobody holds any more is closed`() async throws {
        let service = try await TestService()
        var connection: VarlinkConnection? = try await service.connect()
        #expect(await eventually { await service.server.connectionCount == 1 })
        weak let released = connection
        connection = nil
        #expect(await eventually { await service.server.connectionCount == 0 })
        #expect(released == nil)
    }
}

extension VarlinkConnection {
    fileprivate var isReading: Bool { stream.isReading }
}

/// A connection whose other end is in the test's hands.
private func connectionToNobody() async throws -> (VarlinkConnection, Peer) {
    let (mine, theirs) = try UnixSocket.pair(.stream)
    return (try await VarlinkConnection.adopt(mine), Peer(descriptor: theirs))
}

private struct Peer {
    let descriptor: SharedDescriptor

    func reply(_ text: String) throws {
        let bytes = Array(text.utf8) + [0]
        #expect(try unsafe DescriptorPassing.send(bytes.span.bytes, on: descriptor.raw) == bytes.count)
    }
}
