import Glibc
import LinuxSystem
import TestSupport
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

    @Test func `the service describes itself`() async throws {
        struct Info: Decodable { let product: String, interfaces: [String] }

        let service = try await TestService()
        let connection = try await service.connect()
        let info: Info = try await connection.call("org.varlink.service.GetInfo")
        #expect(info.product == "test")
        #expect(info.interfaces == ["org.varlink.service", "org.tunneld.Test"])
        let text: [String: String] = try await connection.call(
            "org.varlink.service.GetInterfaceDescription",
            ["interface": "org.tunneld.Test"]
        )
        #expect(text == ["description": TestService.interface])
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

    @Test func `calls sent at once are answered in their order, whole or in pieces`() async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        var bytes: [UInt8] = []
        for number in 0..<50 {
            bytes += "{\"method\":\"org.tunneld.Test.Count\",\"more\":true,\"parameters\":{\"to\":2}}\0".utf8
            bytes += "{\"method\":\"org.tunneld.Test.Add\",\"parameters\":{\"a\":\(number),\"b\":0}}\0".utf8
        }
        for begin in stride(from: 0, to: bytes.count, by: 77) {
            await client.send(Array(bytes[begin..<min(begin + 77, bytes.count)]))
        }
        for number in 0..<50 {
            #expect(await client.receive() == "{\"parameters\":{\"number\":1},\"continues\":true}")
            #expect(await client.receive() == "{\"parameters\":{\"number\":2}}")
            #expect(await client.receive() == "{\"parameters\":{\"sum\":\(number)}}")
        }
    }

    @Test func `a one-way call gets no reply, not even an error`() async throws {
        let service = try await TestService()
        let connection = try await service.connect()
        try await connection.callOneWay("org.tunneld.Test.Echo", ["text": "quiet"])
        try await connection.callOneWay("org.tunneld.Test.Fail")
        try await connection.callOneWay("org.tunneld.Test.Nope")
        let echo: [String: String] = try await connection.call("org.tunneld.Test.Echo", ["text": "loud"])
        #expect(echo == ["text": "loud"])
        #expect(service.echoes.value == 2)
    }

    @Test func `who ends its side after the calls still gets the answers, then the connection closes`() async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        await client.send("{\"method\":\"org.tunneld.Test.Count\",\"more\":true,\"parameters\":{\"to\":3}}")
        await client.send("{\"method\":\"org.tunneld.Test.Add\",\"parameters\":{\"a\":1,\"b\":1}}")
        client.endOutput()
        for _ in 0..<3 { #expect(await client.receive()?.contains("number") == true) }
        #expect(await client.receive() == "{\"parameters\":{\"sum\":2}}")
        #expect(await client.isAtEnd())
        #expect(await eventually { await service.server.connectionCount == 0 })
    }

    @Test func `who ends its side within a message is told`() async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        await client.send(Array("{\"method\":".utf8))
        client.endOutput()
        #expect(await client.receive()?.contains("ended inside a message") == true)
        #expect(await client.isAtEnd())
    }

    @Test func `what a client asked for before it went is done`() async throws {
        let service = try await TestService()
        var client: RawClient? = try service.rawClient()
        for _ in 0..<100 {
            await client?.send(
                "{\"method\":\"org.tunneld.Test.Echo\",\"oneway\":true,\"parameters\":{\"text\":\"do\"}}"
            )
            await client?.send("{\"method\":\"org.tunneld.Test.Echo\",\"parameters\":{\"text\":\"do\"}}")
        }
        client = nil
        #expect(await eventually { service.echoes.value == 200 })
        #expect(await eventually { await service.server.connectionCount == 0 })
    }

    @Test func `a handler learns that its caller went; a stream's task is cancelled, another call's is not`()
        async throws
    {
        let service = try await TestService()
        var clients = [try service.rawClient(), try service.rawClient()]
        await clients[0].send("{\"method\":\"org.tunneld.Test.Hang\",\"more\":true}")
        await clients[1].send("{\"method\":\"org.tunneld.Test.Hang\"}")
        #expect(await eventually { service.hangs.value == 2 })
        clients = []
        #expect(await eventually { service.disconnectedHangs.value == 2 })
        #expect(await eventually { service.cancelledHangs.value == 1 })
    }

    @Test func `descriptors come with the call they were sent with, in both directions`() async throws {
        let service = try await TestService()
        let connection = try await service.connect()
        let (near, far) = try UnixSocket.pair(.stream)
        async let before: [String: Int] = connection.call("org.tunneld.Test.Descriptors")
        async let with = connection.perform(
            VarlinkCall(method: "org.tunneld.Test.Descriptors"),
            descriptors: [far, near]
        )
        async let after: [String: Int] = connection.call("org.tunneld.Test.Descriptors")
        #expect(try await before == ["received": 0])
        #expect(try await after == ["received": 0])
        let reply = try await with
        #expect(try reply.decode([String: Int].self) == ["received": 2])
        let returned = try #require(reply.descriptors.first)
        #expect(reply.descriptors.count == 2)
        #expect(unsafe write(returned.raw, "x", 1) == 1)
        var byte: UInt8 = 0
        #expect(unsafe read(near.raw, &byte, 1) == 1)
        #expect(byte == UInt8(ascii: "x"))
        #expect(fcntl(returned.raw, F_GETFD) == FD_CLOEXEC)
    }

    @Test func `descriptors before a long message's end belong to it, and those nobody takes are closed`() async throws
    {
        let service = try await TestService()
        let connection = try await service.connect()
        let (near, far) = try UnixSocket.pair(.stream)
        let text = String(repeating: "z", count: 1_000_000)
        let call = VarlinkCall(
            method: "org.tunneld.Test.Echo",
            parameters: try VarlinkJSON.encode(["text": text])
        )
        async let echo = connection.perform(call, descriptors: Array(repeating: far, count: 16))
        async let received: [String: Int] = connection.call("org.tunneld.Test.Descriptors")
        #expect(try await echo.decode([String: String].self) == ["text": text])
        #expect(try await received == ["received": 0])
        UnixSocket.shutDown(far.raw)
        #expect(UnixSocket.isHungUp(near.raw))
    }

    @Test func `more descriptors than a message may have end the connection`() async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        let spare = try UnixSocket.pair(.stream).0
        let piece: [UInt8] = [UInt8(ascii: "{")]
        for _ in 0..<2 {
            _ = try unsafe DescriptorPassing.send(
                piece.span.bytes,
                Array(repeating: spare, count: 9),
                on: client.descriptor.raw
            )
        }
        #expect(await client.receive()?.contains("More than 16 file descriptors") == true)
        #expect(await client.isAtEnd())
    }

    @Test func `the caller is known by its process, user and groups`() async throws {
        let (mine, theirs) = try UnixSocket.pair(.stream)
        let credentials = try PeerCredentials(of: mine.raw)
        #expect(credentials.process == getpid())
        #expect(credentials.user == geteuid())
        #expect(credentials.group == getegid())
        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = unsafe getgroups(Int32(groups.count), &groups)
        #expect(Set(credentials.groups) == Set(groups[..<Int(count)]))
        withExtendedLifetime(theirs) {}
    }

    @Test func `a stopped server is gone: its file, its listener, its connections`() async throws {
        let service = try await TestService()
        let connection = try await service.connect()
        let closed = Counter()
        await connection.onClose { closed.add() }
        await service.server.stop()
        #expect(await eventually { closed.value == 1 })
        #expect(unsafe access(service.path, F_OK) == -1)
        await #expect(throws: VarlinkClientError.self) { try await service.connect() }
    }
}
