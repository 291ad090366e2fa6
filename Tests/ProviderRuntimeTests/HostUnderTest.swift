import ControlAPI
import FoundationEssentials
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing
import VarlinkCore
import VarlinkSocket

@testable import ProviderRuntime

/// A provider's host in a folder of its own, and the tunneld that calls it.
final class HostUnderTest: Sendable {
    let folder: LaunchFolder
    let tunnel: FakeTunnel
    private let host: ProviderHost<FakeTunnel>
    private let path: String
    private let status: AsyncStream<Int32>
    private let connections = Mutex<[VarlinkConnection]>([])

    init(controller: UInt32, patience: Interval) async throws {
        path = FileManager.default.temporaryDirectory.path + "/host-\(UUID())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let launch = LaunchDocument(identifier: "id", nonce: "nonce", controllerUser: controller)
        try JSONEncoder().encode(launch).write(to: URL(filePath: path + "/launch"))
        folder = try LaunchFolder(directory: path)
        let (status, ended) = AsyncStream.makeStream(of: Int32.self)
        self.status = status
        host = try .open(folder, patience: patience) { ended.yield($0) }
        tunnel = host.tunnel
        try await host.begin()
    }

    func close() async {
        await closeAll()
        try? FileManager.default.removeItem(atPath: path)
    }

    func closeAll() async {
        for connection in connections.withLock({ $0 }) { await connection.close() }
        connections.withLock { $0 = [] }
    }

    /// The status with which the process would have ended.
    func ended() async -> Int32? {
        var iterator = status.makeAsyncIterator()
        return await iterator.next()
    }

    // MARK: Calls

    func attach(epoch: UInt64) async throws -> (ProviderCalls.AttachReply, ReplyStream.Iterator) {
        let connection = try await connect()
        let parameters = ProviderCalls.AttachParameters(version: 1, epoch: epoch, nonce: "nonce")
        let stream = try await connection.callMore("\(ProviderCalls.interface).Attach", parameters)
        var iterator = stream.makeAsyncIterator()
        return (try await next(&iterator), iterator)
    }

    func next(_ replies: inout ReplyStream.Iterator) async throws -> ProviderCalls.AttachReply {
        let reply = try await replies.next()
        return try #require(reply).decode()
    }

    @discardableResult
    func start(name: String = "home", descriptors: [String]) async throws -> ProviderCalls.SettingsReply {
        try await ask(
            "Start",
            ProviderCalls.StartParameters(
                identifier: "id",
                name: name,
                session: "session",
                interface: "tun9",
                configuration: [:],
                lastTimestamp: nil,
                descriptors: descriptors,
                listenPort: 0,
                endpointHints: nil,
                peerCounters: nil,
                options: nil
            )
        )
    }

    func call(
        _ method: String,
        _ parameters: some Encodable & Sendable = NoParameters(),
        timeout: Interval? = nil
    ) async throws {
        let _: NoParameters = try await ask(method, parameters, timeout: timeout)
    }

    func ask<Reply: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable,
        timeout: Interval? = nil
    ) async throws -> Reply {
        let connection = try await connect()
        return try await connection.call("\(ProviderCalls.interface).\(method)", parameters, timeout: timeout)
    }

    private func connect() async throws -> VarlinkConnection {
        let connection = try await VarlinkConnection.connect(to: folder.controlPath)
        connections.withLock { $0.append(connection) }
        return connection
    }

    // MARK: Descriptors

    /// A connection to the descriptor socket.
    func door() throws -> SharedDescriptor {
        SharedDescriptor(try UnixSocket.connect(.sequencedPacket, to: UnixSocketAddress(folder.descriptorsPath)))
    }

    /// A memfd that holds its own name.
    func file(_ content: String) throws -> SharedDescriptor {
        let bytes = Array(content.utf8)
        return SharedDescriptor(
            try unsafe MemoryFile.make(name: content, count: bytes.count) { unsafe $0.copyBytes(from: bytes) }
        )
    }

    func send(_ descriptor: SharedDescriptor, _ label: String, on door: SharedDescriptor) throws {
        #expect(try unsafe DescriptorPassing.send(Array(label.utf8).span.bytes, [descriptor], on: door.raw) != nil)
    }

    /// What comes in: labels and the files' contents.
    func received(_ count: Int, on door: SharedDescriptor) throws -> [String: String] {
        var found: [String: String] = [:]
        var buffer = [UInt8](repeating: 0, count: 64)
        while found.count < count {
            guard waitUntilReady(door.raw) else { return found }
            let packet = try unsafe buffer.withUnsafeMutableBytes {
                try unsafe DescriptorPassing.receive(into: $0, on: door.raw)
            }
            guard let packet, packet.count > 0, let descriptor = packet.descriptors.first else { return found }
            let label = String(decoding: buffer[..<packet.count], as: UTF8.self)
            found[label] = try unsafe MemoryFile.withContents(of: descriptor.raw, limit: 64) {
                unsafe String(decoding: $0, as: UTF8.self)
            }
        }
        return found
    }
}
