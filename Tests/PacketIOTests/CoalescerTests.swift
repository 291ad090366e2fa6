import CShims
import Glibc
import LinuxSystem
import PacketIO
import PacketTestSupport
import Synchronization
import Testing

@Suite struct CoalescerTests {
    @Test func `whatever comes in, what is written stands for the same packets in the same order`() throws {
        for round in 0..<30 {
            let kernel = try TestKernel()
            let packets = randomPackets(round)
            kernel.deliver(packets)
            let written = kernel.written()
            #expect(written.flatMap { cut($0) ?? [] }.map(normal) == packets.map(normal))
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `packets of a flow are merged into one with right headers`(isIPv6: Bool, isTCP: Bool) throws {
        let packet = TestPacket(isIPv6: isIPv6, isTCP: isTCP, payload: (0..<2950).map { UInt8($0 & 0xff) })
        let kernel = try TestKernel()
        kernel.deliver(packet.segments(of: 1000).map(\.bytes))
        // Three packets, the last one shorter: exactly what a local stack would have handed over as one.
        #expect(kernel.written() == [packet.superPacket(segmentSize: 1000)])
        #expect(kernel.writer.counters.packets == 3)
    }

    @Test func `PSH closes a super-packet and stands on it`() throws {
        var packets = TestPacket(payload: [UInt8](repeating: 1, count: 400)).segments(of: 100)
        packets[1].flags |= 0x08
        let kernel = try TestKernel()
        kernel.deliver(packets.map(\.bytes))
        let written = kernel.written()
        #expect(written.count == 2)
        #expect(written.map { $0[VirtioHeader.size + 33] } == [0x18, 0x10])
    }

    @Test(arguments: [
        "ecn", "ttl", "df", "flow label", "source", "port", "ack", "window", "urgent", "options", "gap", "repeat",
        "longer", "flag", "empty", "ip options", "fragment", "reserved bit", "checksum", "ip checksum",
    ])
    func `a packet that differs from the one before is not merged with it`(what: String) throws {
        let isIPv6 = what == "flow label"
        let first = TestPacket(
            isIPv6: isIPv6,
            trafficClass: 2,
            tcpOptions: [1, 1, 1, 1],
            payload: [UInt8](repeating: 1, count: 100)
        )
        var second = first
        second.sequence = 100
        switch what {
        case "ecn": second.trafficClass = 3
        case "ttl": second.hopLimit = 63
        case "df": second.fragment = 0
        case "flow label": second.flowLabel = 1
        case "source": second.source = 9
        case "port": second.destinationPort = 9
        case "ack": second.acknowledgement = 9
        case "window": second.window = 9
        case "urgent": second.urgent = 9
        case "options": second.tcpOptions = [1, 1, 1, 0]
        case "gap": second.sequence = 101
        case "repeat": second.sequence = 0
        case "longer": second.payload.append(1)
        case "flag": second.flags = 0x11
        case "empty": second.payload = []
        case "ip options": second.ipOptions = [1, 1, 1, 1]
        case "fragment": second.fragment = 0x2000
        case "reserved bit": second.fragment = 0xc000
        default: break
        }
        var bytes = second.bytes
        if what == "checksum" { bytes[60] ^= 1 }
        if what == "ip checksum" { bytes[10] ^= 1 }
        let kernel = try TestKernel()
        kernel.deliver([first.bytes, bytes])
        #expect(kernel.written() == [first.bytes, bytes].map { VirtioHeader().bytes + $0 })
    }

    @Test func `UDP without a checksum stays alone, and all UDP where the kernel can't take it merged`() throws {
        let packets = (0..<3).map { _ in TestPacket(isTCP: false, payload: [1, 2, 3], omitsChecksum: true).bytes }
        let kernel = try TestKernel()
        kernel.deliver(packets)
        #expect(kernel.written() == packets.map { VirtioHeader().bytes + $0 })
        let sound = (0..<3).map { _ in TestPacket(isTCP: false, payload: [1, 2, 3]).bytes }
        let older = try TestKernel(offloads: [.checksum, .tcp])
        older.deliver(sound)
        #expect(older.written() == sound.map { VirtioHeader().bytes + $0 })
    }

    @Test func `no super-packet is longer than 64 packets or 65535 bytes`() throws {
        for isTCP in [true, false] {
            let small = TestPacket(isTCP: isTCP, payload: [UInt8](repeating: 1, count: 200)).segments(of: 1)
            let kernel = try TestKernel()
            kernel.deliver(small.map(\.bytes))
            #expect(kernel.written().map { (cut($0) ?? []).count } == [64, 64, 64, 8])
            let large = (0..<20).map { index in
                TestPacket(
                    isTCP: isTCP,
                    sequence: UInt32(index * 9000),
                    payload: [UInt8](repeating: 1, count: 9000)
                ).bytes
            }
            kernel.deliver(large)
            let written = kernel.written()
            #expect(written.map { (cut($0) ?? []).count } == [7, 7, 6])
            #expect(written.allSatisfy { $0.count <= 65535 + VirtioHeader.size })
        }
    }

    /// C064: a kernel that got stricter.
    @Test func `where merged packets are refused, they go singly, and merging ends`() throws {
        let kernel = try TestKernel(calls: TunCalls.refusingSuperPackets)
        let packets = TestPacket(payload: [UInt8](repeating: 1, count: 300)).segments(of: 100).map(\.bytes)
        kernel.deliver(packets)
        #expect(kernel.written() == packets.map { VirtioHeader().bytes + $0 })
        #expect(kernel.writer.gaveUpMerging)
        #expect(kernel.writer.counters.packets == 3 && kernel.writer.counters.refused == 0)
        kernel.deliver(packets)
        #expect(kernel.written() == packets.map { VirtioHeader().bytes + $0 })
    }

    @Test func `a device without virtio-net headers gets plain packets`() throws {
        let kernel = try TestKernel(headerLength: 0)
        let packets = TestPacket(payload: [UInt8](repeating: 1, count: 300)).segments(of: 100).map(\.bytes)
        kernel.deliver(packets)
        #expect(kernel.written() == packets)
    }
}

/// A socket pair in a TUN device's place: what is written comes out at the other end.
private final class TestKernel {
    let writer: TunWriter
    private let other: SharedDescriptor

    init(
        headerLength: Int = VirtioHeader.size,
        offloads: TunDevice.Offloads = [.checksum, .tcp, .udp],
        calls: TunCalls = .kernel
    ) throws {
        let (own, other) = try packetPair()
        self.other = other
        writer = TunWriter(
            TunDevice(descriptor: own, name: "test", headerLength: headerLength, offloads: offloads, calls: calls)
        )
    }

    /// Hands the packets over as one batch.
    func deliver(_ packets: [[UInt8]]) {
        let stride = 65536 + Coalescer.headroom
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(packets.count, 1) * stride, alignment: 8)
        defer { unsafe memory.deallocate() }
        for (index, packet) in packets.enumerated() {
            let place = unsafe memory + index * stride + Coalescer.headroom
            unsafe packet.withUnsafeBytes { bytes in
                if let base = bytes.baseAddress { unsafe place.copyMemory(from: base, byteCount: bytes.count) }
            }
            unsafe writer.deliver(place, length: packet.count)
        }
        writer.flush()
    }

    func written() -> [[UInt8]] { receiveAll(other.raw) }
}

extension TunCalls {
    fileprivate static let refusingSuperPackets = unsafe TunCalls(
        read: { unsafe read($0, $1, $2) },
        write: { descriptor, parts, count in
            guard unsafe parts[0].base.load(fromByteOffset: 1, as: UInt8.self) == 0 else { return -Int(EINVAL) }
            return unsafe shim_tun_write(descriptor, parts, count)
        }
    )
}

/// Packets of a few flows, mostly in order, with everything that may differ differing now and then.
private func randomPackets(_ round: Int) -> [[UInt8]] {
    var flows = (0..<3).map { flow -> TestPacket in
        var packet = TestPacket()
        packet.isIPv6 = flow == 1
        packet.isTCP = round % 3 != 0 || flow != 2
        packet.source = UInt8(flow + 1)
        packet.sequence = .random(in: 0...(.max))
        if flow == 0 { packet.tcpOptions = [1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8] }
        return packet
    }
    return (0..<100).map { _ -> [UInt8] in
        let flow = Int.random(in: 0..<10) < 8 ? round % 3 : Int.random(in: 0..<3)
        var packet = flows[flow]
        let length = Int.random(in: 0..<10) < 8 ? 100 : Int.random(in: 0...300)
        packet.payload = randomBytes(length)
        flows[flow].sequence &+= UInt32(length)
        vary(&packet, Int.random(in: 0..<40))
        var bytes = packet.bytes
        if Int.random(in: 0..<40) == 0 {
            let index = Int.random(in: 0..<bytes.count)
            bytes[index] ^= 1 << UInt8.random(in: 0...7)
        }
        return bytes
    }
}

private func vary(_ packet: inout TestPacket, _ what: Int) {
    switch what {
    case 0: packet.flags |= 0x08
    case 1: packet.flags = UInt8.random(in: 0...255)
    case 2: packet.sequence &+= 1
    case 3: packet.trafficClass = UInt8.random(in: 0...3)
    case 4: packet.window = UInt16.random(in: 0...3)
    case 5: packet.hopLimit = 1
    case 6: packet.fragment = [0, 0x2000, 0x0001, 0x8000].randomElement() ?? 0
    case 7: packet.ipOptions = packet.isIPv6 ? [] : [1, 1, 1, 1]
    case 8: packet.omitsChecksum = true
    case 9: packet.tcpOptions = [1, 1, 1, 1]
    default: break
    }
}

func randomBytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }
