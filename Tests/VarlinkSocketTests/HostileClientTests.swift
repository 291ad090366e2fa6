import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing
import VarlinkCore
@testable import VarlinkSocket

/// What any local user may try; the service must answer others all the while.
@Suite struct `Hostile clients` {
    @Test(arguments: [
        ("", "an object"), ("{}", "\"method\""), ("[]", "an object"), ("{\"method\":", "a value"),
        ("{\"method\":5}", "\"method\" should be a string"), ("{\"method\":\"Ping\"}", "an interface and a method"),
        ("{\"method\":\"a.B\",\"parameters\":7}", "\"parameters\" should be an object"),
        ("{\"method\":\"a.B\",\"more\":\"yes\"}", "\"more\" should be true or false"),
        ("\u{1}\u{2}", "byte 0"), ("{\"method\":\"a.B\"}}", "byte 16"),
        ("{\"a\":" + String(repeating: "[", count: 500), "nested deeper"),
        ("{\"a\":[" + String(repeating: "0,", count: 150_000) + "0]}", "more than 100000 values"),
    ])
    func `a broken message gets an error that names the fault, and the next one its answer`(
        text: String,
        fault: String
    ) async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        await client.send(text)
        await client.send("{\"method\":\"org.tunneld.Test.Echo\",\"parameters\":{\"text\":\"still here\"}}")
        let reply = try VarlinkReply(parsing: Array(try #require(await client.receive()).utf8))
        guard case .error(let error) = reply.body else {
            Issue.record("no error: \(reply)")
            return
        }
        #expect(error.name == "org.tunneld.MalformedMessage")
        #expect(try error.decode([String: String].self)["message"]?.contains(fault) == true, "\(error)")
        #expect(await client.receive() == "{\"parameters\":{\"text\":\"still here\"}}")
    }

    @Test(arguments: [
        ("org.tunneld.Nope.Do", "{}", "org.varlink.service.InterfaceNotFound", "{\"interface\":\"org.tunneld.Nope\"}"),
        ("org.tunneld.Test.Nope", "{}", "org.varlink.service.MethodNotFound", "{\"method\":\"org.tunneld.Test.Nope\"}"),
        (
            "org.tunneld.Test.Missing", "{}", "org.varlink.service.MethodNotImplemented",
            "{\"method\":\"org.tunneld.Test.Missing\"}"
        ),
        ("org.tunneld.Test.Echo", "{}", "org.varlink.service.InvalidParameter", "{\"parameter\":\"text\"}"),
        ("org.tunneld.Test.Echo", "{\"text\":5}", "org.varlink.service.InvalidParameter", "{\"parameter\":\"text\"}"),
        (
            "org.tunneld.Test.Echo", "{\"text\":\"\",\"txt\":0}", "org.varlink.service.InvalidParameter",
            "{\"parameter\":\"txt\"}"
        ),
        ("org.tunneld.Test.Fail", "{}", "org.tunneld.Test.Refused", "{\"message\":\"no\"}"),
        ("org.tunneld.Test.Count", "{\"to\":2}", "org.varlink.service.ExpectedMore", "{}"),
        (
            "org.tunneld.Test.Forget", "{}", "org.tunneld.InternalError",
            "{\"message\":\"The service gave no answer.\"}"
        ),
    ])
    func `a call that can't be carried out gets its error`(
        method: String,
        parameters: String,
        name: String,
        detail: String
    ) async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        await client.send("{\"method\":\"\(method)\",\"parameters\":\(parameters)}")
        #expect(await client.receive() == "{\"error\":\"\(name)\",\"parameters\":\(detail)}")
    }

    @Test func `a hundred megabytes without an end are cut off at the limit`() async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        var sent = 0
        for _ in 0..<100 {
            let count = await client.send(piece)
            sent += count
            if count < piece.count { break }
        }
        #expect(sent < 6 << 20)
        #expect(await client.receive()?.contains("longer than 4194304 bytes") == true)
        #expect(await client.isAtEnd())
        let connection = try await service.connect()
        let echo: [String: String] = try await connection.call("org.tunneld.Test.Echo", ["text": "alive"])
        #expect(echo == ["text": "alive"])
    }

    @Test func `unfinished messages of one user are bounded over all its connections`() async throws {
        var limits = ServerLimits()
        limits.inputBytesPerUser = 1 << 20
        let service = try await TestService(limits: limits)
        let clients = try (0..<10).map { _ in try service.rawClient() }
        for client in clients { await client.send([UInt8](repeating: UInt8(ascii: "x"), count: 200_000)) }
        #expect(await eventually { service.incidents.all.count >= 5 })
        #expect(await service.server.connectionCount == 5)
        var replies: [String] = []
        for client in clients where UnixSocket.isHungUp(client.descriptor.raw) {
            replies.append(await client.receive() ?? "nothing")
        }
        #expect(replies.count == 5)
        #expect(replies.allSatisfy { $0.contains("org.tunneld.LimitExceeded") }, "\(replies)")
    }

    @Test func `a client that never reads a stream is disconnected at the limit`() async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        await client.send("{\"method\":\"org.tunneld.Test.Flood\",\"more\":true,\"parameters\":{\"size\":100000}}")
        #expect(await eventually { service.incidents.all.count == 1 })
        #expect(await service.server.connectionCount == 0)
        #expect(await eventually { service.endedFloods.value == 1 })
    }

    @Test func `calls piled up by a client that doesn't read are begun only as fast as it reads`() async throws {
        let service = try await TestService()
        let client = try service.rawClient()
        let text = String(repeating: "y", count: 1000)
        let call = Array("{\"method\":\"org.tunneld.Test.Echo\",\"parameters\":{\"text\":\"\(text)\"}}".utf8) + [0]
        let writer = Task.detached { for _ in 0..<10_000 { await client.send(call) } }
        #expect(await eventually { service.echoes.value > 100 })
        var begun = -1
        // All that fits between the two is in flight once nothing moves any more.
        while begun != service.echoes.value {
            begun = service.echoes.value
            try await Task.sleep(for: .milliseconds(100))
        }
        #expect(begun < 2000)
        let expected = "{\"parameters\":{\"text\":\"\(text)\"}}"
        for _ in 0..<10_000 { try #require(await client.receive() == expected) }
        await writer.value
        #expect(service.echoes.value == 10_000)
    }

    @Test func `more connections than allowed are refused with an error, and room is made again`() async throws {
        var limits = ServerLimits()
        limits.connectionsPerUser = 3
        let service = try await TestService(limits: limits)
        var clients = try (0..<3).map { _ in try service.rawClient() }
        #expect(await eventually { await service.server.connectionCount == 3 })
        let fourth = try service.rawClient()
        #expect(await fourth.receive()?.contains("org.tunneld.LimitExceeded") == true)
        #expect(await fourth.isAtEnd())
        clients.removeLast()
        #expect(await eventually { await service.server.connectionCount == 2 })
        let fifth = try await service.connect()
        let echo: [String: String] = try await fifth.call("org.tunneld.Test.Echo", ["text": "in"])
        #expect(echo == ["text": "in"])
    }

    @Test func `a thousand clients at once are served`() async throws {
        DescriptorLimit.raise()
        let service = try await TestService()
        let clients = try (0..<1000).map { _ in try service.rawClient() }
        for (number, client) in clients.enumerated() {
            await client.send("{\"method\":\"org.tunneld.Test.Add\",\"parameters\":{\"a\":\(number),\"b\":1}}")
        }
        for (number, client) in clients.enumerated() {
            #expect(await client.receive() == "{\"parameters\":{\"sum\":\(number + 1)}}")
        }
        #expect(await service.server.connectionCount == 1000)
    }

    @Test func `clients can't use up the descriptors, neither by connecting nor by sending some`() async {
        // In a process of its own, as the limit is the whole process's.
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 128, rlim_max: 128)
            guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(2) }
            let service = try await TestService()
            let first = try service.rawClient()
            await first.send("{\"method\":\"org.tunneld.Test.Add\",\"parameters\":{\"a\":1,\"b\":1}}")
            guard await first.receive() == "{\"parameters\":{\"sum\":2}}" else { exit(3) }
            // Each client takes a descriptor at both ends.
            var clients: [RawClient] = []
            while service.incidents.all.isEmpty, clients.count < 64 {
                clients.append(try service.rawClient())
                let count = clients.count
                _ = await eventually { await service.server.connectionCount > count || !service.incidents.all.isEmpty }
            }
            guard await clients.last?.receive()?.contains("org.tunneld.LimitExceeded") == true else { exit(4) }
            _ = try unsafe DescriptorPassing.send(
                [UInt8(ascii: "{")].span.bytes,
                Array(repeating: first.descriptor, count: 16),
                on: first.descriptor.raw
            )
            guard await first.receive()?.contains("no room for them") == true else { exit(5) }
            guard try (0..<24).map({ _ in try first.descriptor.duplicate().release() }).count == 24 else { exit(6) }
            exit(0)
        }
    }

    @Test func `when nothing can be accepted the server pauses instead of spinning, and goes on by itself`()
        async throws
    {
        let failures = Mutex(2)
        let calls = Counter()
        let service = try await TestService { listener throws(SystemError) in
            calls.add()
            let fails = failures.withLock { left in
                left -= 1
                return left >= 0
            }
            if fails { throw SystemError(ENFILE, in: "accept4") }
            return try UnixSocket.accept(on: listener)
        }
        let connection = try await service.connect()
        let echo: [String: String] = try await connection.call("org.tunneld.Test.Echo", ["text": "late"])
        #expect(echo == ["text": "late"])
        #expect(calls.value <= 5)
        #expect(
            service.incidents.all.map(\.description) == [
                "Cannot accept connections (accept4: Too many open files in system (ENFILE)); trying again every second.",
                "Accepting connections again.",
                "Cannot accept connections (accept4: Too many open files in system (ENFILE)); trying again every second.",
                "Accepting connections again.",
            ]
        )
    }
}
