import Dispatch
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing
import WireGuardCore

@testable import WireGuardProvider

struct DeviceSocketTests {
    private static let get = "get=1\n\n"
    private static let set = "set=1\nlisten_port=1\n\n"

    @Test func `get is answered with what wg shows, secrets included for root`() throws {
        let socket = try SocketUnderTest()
        socket.report.withLock { $0 = SocketUnderTest.fullReport() }
        let answer = try socket.exchange(Self.get)
        let key = String(repeating: "07", count: 32)
        let secrets = getuid() == 0 ? ("private_key=\(key)\n", "preshared_key=\(key)\n") : ("", "")
        #expect(
            answer == """
                \(secrets.0)listen_port=51820
                fwmark=134217728
                public_key=\(String(repeating: "0a", count: 32))
                \(secrets.1)protocol_version=1
                endpoint=[2001:db8::1]:7
                last_handshake_time_sec=1767225600
                last_handshake_time_nsec=5
                tx_bytes=2
                rx_bytes=1
                persistent_keepalive_interval=25
                allowed_ip=10.0.0.0/8
                allowed_ip=fd00::/64
                errno=0


                """
        )
    }

    @Test func `without user id 0 no key is told`() {
        var buffer = WipedBuffer()
        SocketUnderTest.fullReport().write(to: &buffer, includesSecrets: false)
        let text = unsafe buffer.bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        #expect(!text.contains("private_key") && !text.contains("preshared_key"))
        #expect(!text.contains(String(repeating: "07", count: 32)))
        #expect(text.contains("public_key"))
    }

    @Test func `several operations of one connection are answered in turn`() throws {
        let socket = try SocketUnderTest()
        let client = try socket.connect()
        try client.send(Self.set + "set=1\nlisten_port=x\n\n" + Self.set)
        #expect(try client.read(answers: 3) == "errno=0\n\nerrno=-22\n\nerrno=0\n\n")
        try client.send(Self.get)
        #expect(try client.read(answers: 1) == "listen_port=0\nerrno=0\n\n")
    }

    @Test func `an operation may come byte by byte`() throws {
        let socket = try SocketUnderTest()
        let client = try socket.connect()
        for byte in Self.set.utf8 { try client.send(String(UnicodeScalar(byte))) }
        #expect(try client.read(answers: 1) == "errno=0\n\n")
    }

    @Test func `clients don't wait for one that is silent or half through`() throws {
        let socket = try SocketUnderTest()
        let silent = try socket.connect()
        let half = try socket.connect()
        try half.send("set=1\npublic_key=")
        #expect(try socket.exchange(Self.set) == "errno=0\n\n")
        try half.send(String(repeating: "00", count: 32) + "\n\n")
        try silent.send(Self.get)
        #expect(try half.read(answers: 1) == "errno=0\n\n")
        #expect(try silent.read(answers: 1) == "listen_port=0\nerrno=0\n\n")
    }

    @Test func `a large change arrives whole`() throws {
        let socket = try SocketUnderTest()
        let lines = (0..<20_000).map { "allowed_ip=10.\($0 / 65536).\($0 / 256 % 256).\($0 % 256)/32\n" }
        let peer = "public_key=\(String(repeating: "0a", count: 32))\n"
        #expect(try socket.exchange("set=1\n" + peer + lines.joined() + "\n") == "errno=0\n\n")
        #expect(socket.allowedIPs.withLock { $0 } == 20_000)
    }

    @Test func `an operation without end is refused once and the client is put out`() throws {
        let socket = try SocketUnderTest()
        let client = try socket.connect()
        let line = String(repeating: "a", count: 200) + "\n"
        let chunk = String(repeating: line, count: 300)
        var sent = 0
        while sent <= 4 << 20 {
            guard (try? client.send(chunk)) != nil else { break }
            sent += chunk.utf8.count
        }
        #expect(sent < 4 << 20)
        #expect((try? client.read(answers: 2)) ?? "errno=-7\n\n" == "errno=-7\n\n")
        #expect(try socket.exchange(Self.set) == "errno=0\n\n")
    }

    @Test func `beyond the limit the oldest client makes room`() throws {
        let socket = try SocketUnderTest()
        let first = try socket.connect()
        try first.send(Self.set)
        #expect(try first.read(answers: 1) == "errno=0\n\n")
        let others = try (0..<DeviceSocket.maximumClients).map { _ in SharedClient(try socket.connect()) }
        #expect(try first.read(answers: 1) == "")
        for other in others {
            try other.client.send(Self.set)
            #expect(try other.client.read(answers: 1) == "errno=0\n\n")
        }
    }

    @Test func `while an operation waits for its answer the next of the client waits too`() throws {
        let socket = try SocketUnderTest()
        socket.isHolding.withLock { $0 = true }
        let client = try socket.connect()
        try client.send(Self.set + Self.get)
        #expect(blockUntil { socket.held.withLock { !$0.isEmpty } })
        socket.settle()
        #expect(socket.held.withLock { $0.count } == 1)
        socket.release()
        #expect(try client.read(answers: 2) == "errno=0\n\nlisten_port=0\nerrno=0\n\n")
    }

    @Test func `an answer longer than the socket takes goes out as it is read`() throws {
        let socket = try SocketUnderTest()
        socket.report.withLock { report in
            let key = PublicKey([UInt8](repeating: 1, count: 32))
            let prefixes = (0..<60_000).map { IPPrefix(host: .v4(.init($0))) }
            report.peers = key.map { [DeviceReport.Peer(publicKey: $0, allowedIPs: prefixes)] } ?? []
        }
        let client = try socket.connect()
        try client.send(Self.get)
        socket.settle()
        let answer = try client.read(answers: 1)
        #expect(answer.utf8.count > 1_000_000)
        #expect(answer.hasSuffix("allowed_ip=0.0.234.95/32\nerrno=0\n\n"))
    }

    @Test func `random bytes end in answers or a closed connection`() throws {
        let socket = try SocketUnderTest()
        var random = SeededGenerator(seed: 7)
        let pieces = [
            "set=1\n", "get=1\n", "\n", "\n\n", "public_key=", "private_key=", "=", "\0", "endpoint=1.2.3.4:5\n",
        ]
        for _ in 0..<200 {
            let client = try socket.connect()
            let text = (0..<Int.random(in: 1...30, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            try? client.send(text.joined())
        }
        #expect(try socket.exchange(Self.set) == "errno=0\n\n")
    }

    private final class SharedClient {
        let client: SocketClient
        init(_ client: consuming SocketClient) { self.client = client }
    }
}
