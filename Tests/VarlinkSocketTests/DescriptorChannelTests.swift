import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing
@testable import VarlinkSocket

@Suite struct `Descriptor channel` {
    @Test func `labels and descriptors arrive together and in order`() async throws {
        let (near, far) = try await pair()
        let (one, other) = try UnixSocket.pair(.stream)
        try await near.send("tun".utf8, [other])
        try await near.send("none".utf8)
        try await near.send([7], [one, one])
        let first = try #require(try await far.receive())
        #expect(first.label == Array("tun".utf8))
        #expect(first.descriptors.count == 1)
        #expect(fcntl(first.descriptors[0].raw, F_GETFD) == FD_CLOEXEC)
        let second = try #require(try await far.receive())
        #expect(second.label == Array("none".utf8))
        #expect(second.descriptors.isEmpty)
        let third = try #require(try await far.receive())
        #expect(third.label == [7])
        #expect(third.descriptors.count == 2)
        #expect(unsafe write(one.raw, "x", 1) == 1)
        var byte: UInt8 = 0
        #expect(unsafe read(first.descriptors[0].raw, &byte, 1) == 1)
    }

    @Test func `what has come already is taken without waiting`() async throws {
        let (one, two) = try UnixSocket.pair(.sequencedPacket)
        let sender = try await DescriptorChannel.adopt(one)
        let receiver = try await DescriptorChannel.adopt(two)
        #expect(await receiver.receiveWaiting().isEmpty)
        for label in ["a", "b", "c"] { try await sender.send(label.utf8) }
        #expect(await receiver.receiveWaiting(limit: 2).map(\.label) == [Array("a".utf8), Array("b".utf8)])
        #expect(try await receiver.receive()?.label == Array("c".utf8))
        await sender.close()
        #expect(await receiver.receiveWaiting().isEmpty)
    }

    @Test func `a message that comes later wakes the receiver`() async throws {
        let (near, far) = try await pair()
        async let received = far.receive()
        try await Task.sleep(for: .milliseconds(20))
        try await near.send([1])
        #expect(try await received?.label == [1])
    }

    @Test func `labels and descriptors are taken to their limits and no further`() async throws {
        let (near, far) = try await pair()
        let spare = try UnixSocket.pair(.stream).0
        let longest = [UInt8](repeating: 1, count: DescriptorChannel.labelLimit)
        try await near.send(longest, Array(repeating: spare, count: 16))
        let received = try #require(try await far.receive())
        #expect(received.label == longest)
        #expect(received.descriptors.count == 16)
        await #expect(throws: DescriptorChannel.Failure.badMessage) { try await near.send(longest + [1]) }
        await #expect(throws: DescriptorChannel.Failure.badMessage) { try await near.send([]) }
        await #expect(throws: DescriptorChannel.Failure.badMessage) {
            try await near.send([1], Array(repeating: spare, count: 17))
        }
    }

    @Test func `a sender waits for a receiver that is slow`() async throws {
        let (near, far) = try await pair()
        let label = [UInt8](repeating: 1, count: 4096)
        let sent = Counter()
        let sender = Task {
            for _ in 0..<1000 {
                try await near.send(label)
                sent.add()
            }
        }
        #expect(await eventually { sent.value > 10 })
        try await Task.sleep(for: .milliseconds(50))
        #expect(sent.value < 1000)
        for _ in 0..<1000 { #expect(try await far.receive()?.label == label) }
        try await sender.value
    }

    @Test func `an overlong packet ends the channel`() async throws {
        let (mine, theirs) = try UnixSocket.pair(.sequencedPacket)
        let channel = try await DescriptorChannel.adopt(mine)
        let packet = [UInt8](repeating: 1, count: 5000)
        #expect(try unsafe DescriptorPassing.send(packet.span.bytes, on: theirs.raw) == 5000)
        await #expect(throws: DescriptorChannel.Failure.badMessage) { try await channel.receive() }
        await #expect(throws: DescriptorChannel.Failure.disconnected) { try await channel.receive() }
        await #expect(throws: DescriptorChannel.Failure.disconnected) { try await channel.send([1]) }
    }

    @Test func `the end is nil for who receives, an error for who sends`() async throws {
        let (near, far) = try await pair()
        async let last = far.receive()
        await near.close()
        #expect(try await last == nil)
        await #expect(throws: DescriptorChannel.Failure.disconnected) { try await far.send([1]) }
    }

    @Test func `a cancelled receiver ends and takes no message`() async throws {
        let (near, far) = try await pair()
        let receiver = Task { try await far.receive() }
        try await Task.sleep(for: .milliseconds(10))
        receiver.cancel()
        await #expect(throws: CancellationError.self) { try await receiver.value }
        try await near.send([9])
        #expect(try await far.receive()?.label == [9])
    }

    @Test func `a listener gives each channel with its peer, and its file goes with it`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/descriptors"
        let channels = Mutex<[DescriptorChannel]>([])
        let listener = try DescriptorListener(
            try UnixListener(.sequencedPacket, at: UnixSocketAddress(path), mode: 0o600)
        ) { channel in channels.withLock { $0.append(channel) } }
        let client = try await DescriptorChannel.connect(to: path)
        #expect(await eventually { channels.withLock { $0.count } == 1 })
        let server = try #require(channels.withLock { $0.first })
        #expect(server.peer.process == getpid())
        try await client.send([5])
        #expect(try await server.receive()?.label == [5])
        listener.stop()
        #expect(unsafe access(path, F_OK) == -1)
        await #expect(throws: DescriptorChannel.Failure.self) { try await DescriptorChannel.connect(to: path) }
    }

    private func pair() async throws -> (DescriptorChannel, DescriptorChannel) {
        let (one, other) = try UnixSocket.pair(.sequencedPacket)
        return (try await DescriptorChannel.adopt(one), try await DescriptorChannel.adopt(other))
    }
}
