import CShims
import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import TestSupport
import TunnelCrypto
import WireGuardCore

/// The other end of a session, played message by message with a socket of its own.
final class ScriptedPeer {
    let endpoint: Endpoint
    private let socket: UDPSocket
    private let keys: SessionKeys
    private let sealer: TransportCipher
    private let opener: TransportCipher
    private(set) var counter: UInt64 = 0

    init(_ keys: SessionKeys, isIPv6: Bool = false) throws {
        socket = try UDPSocket(adopting: loopbackSocket(isIPv6: isIPv6))
        endpoint = Endpoint(isIPv6 ? .v6(.loopback) : .v4(.loopback), port: socket.port)
        self.keys = keys
        let (sendKey, receiveKey) = (keys.sendKey, keys.receiveKey)
        // Another library than the loop's, where the machine has two.
        let engine = CipherEngine(allowing: [])
        sealer = TransportCipher(key: sendKey.bytes, direction: .seal, with: engine)
        opener = TransportCipher(key: receiveKey.bytes, direction: .open, with: engine)
    }

    /// A transport message that carries `content`, padding included.
    func seal(_ content: [UInt8], counter given: UInt64? = nil) -> [UInt8] {
        let number = given ?? counter
        if given == nil { counter += 1 }
        var message =
            little(UInt32(4)) + little(keys.remoteIndex) + little(UInt32(truncatingIfNeeded: number))
            + little(UInt32(number >> 32)) + content + [UInt8](repeating: 0, count: 16)
        unsafe message.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            _ = unsafe sealer.seal(inPlace: base + 16, plaintextLength: content.count, counter: number)
        }
        return message
    }

    /// Sends messages, those of equal length as a train.
    func send(_ messages: [[UInt8]], to: Endpoint, ecn: UInt8 = 0) {
        let batch = SendBatch()
        for message in messages {
            unsafe batch.next.copyMemory(from: message, byteCount: message.count)
            batch.append(message.count, to: SocketAddress(to), ecn: ecn)
            if batch.wantsSending { _ = batch.send(over: socket, socket) }
        }
        _ = batch.send(over: socket, socket)
    }

    /// Seals and sends one packet.
    func sendPacket(_ content: [UInt8], to: Endpoint, ecn: UInt8 = 0) { send([seal(content)], to: to, ecn: ecn) }

    /// One opened message, with the ECN mark of its datagram.
    struct Message: Equatable {
        var counter: UInt64
        var content: [UInt8]
        var ecn: UInt8
    }

    /// Waits for so many messages and opens them; those that don't open are left out.
    func received(_ count: Int) -> [Message] {
        var result: [Message] = []
        while result.count < count, let (datagrams, ecn) = receive() {
            result += datagrams.compactMap { open($0, ecn) }
        }
        return result
    }

    /// Waits for datagrams as they are, a train at a time.
    func receive() -> (datagrams: [[UInt8]], ecn: UInt8)? {
        guard waitUntilReady(socket.descriptor.raw) else { return nil }
        let ring = ReceiveRing()
        guard socket.receive(into: ring, limit: 1) == 1 else { return nil }
        let train = unsafe ring[0]
        let whole = unsafe Array(UnsafeRawBufferPointer(start: train.buffer, count: Int(train.length)))
        let size = unsafe max(Int(train.segment), 1)
        return (
            stride(from: 0, to: whole.count, by: size).map { Array(whole[$0..<min($0 + size, whole.count)]) },
            unsafe train.ecn
        )
    }

    /// Whether nothing has come.
    var isQuiet: Bool { nothingReadable(socket.descriptor.raw) }

    private func open(_ datagram: [UInt8], _ ecn: UInt8) -> Message? {
        guard datagram.count >= 32, Array(datagram[0..<4]) == [4, 0, 0, 0],
            Array(datagram[4..<8]) == little(keys.localIndex)
        else { return nil }
        let counter = datagram[8..<16].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        var bytes = datagram
        let isAuthentic = unsafe bytes.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe opener.open(inPlace: base + 16, ciphertextLength: bytes.count - 16, counter: counter)
        }
        return isAuthentic ? Message(counter: counter, content: Array(bytes[16..<bytes.count - 16]), ecn: ecn) : nil
    }
}

func little(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
