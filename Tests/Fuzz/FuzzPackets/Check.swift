import LinuxSystem
import PacketIO
import PacketTestSupport

/// Reads the input as what a TUN device gave, and as a script of packets to be merged.
func checkPackets(_ bytes: [UInt8]) {
    checkCutting(bytes)
    checkMerging(bytes)
}

/// Whatever header stands before whatever packet: pieces are never longer than the packet, and hold all of its payload.
private func checkCutting(_ bytes: [UInt8]) {
    guard bytes.count > VirtioHeader.size, let pieces = cut(bytes) else { return }
    let packet = bytes.count - VirtioHeader.size
    precondition(pieces.allSatisfy { $0.count <= packet }, "a piece is longer than its packet")
    precondition(pieces.reduce(0) { $0 + $1.count } >= packet, "something is missing from the pieces")
}

/// Packets of one flow with what may differ differing, as the input says: what is written must stand for the same packets.
private func checkMerging(_ bytes: [UInt8]) {
    var rest = bytes.prefix(256)[...]
    var packets: [[UInt8]] = []
    let kind = rest.popFirst() ?? 0
    var sequence: UInt32 = 0xffff_ff00
    while let step = rest.popFirst(), let argument = rest.popFirst() {
        var packet = TestPacket(isIPv6: kind & 1 != 0, isTCP: kind & 2 != 0, sequence: sequence)
        packet.payload = [UInt8](repeating: argument, count: 4 + Int(step & 3))
        switch step >> 2 & 0xf {
        case 0: packet.flags = argument
        case 1: packet.sequence &+= UInt32(argument)
        case 2: packet.trafficClass = argument
        case 3: packet.hopLimit = argument
        case 4: packet.fragment = UInt16(argument) << 8
        case 5: packet.tcpOptions = [1, 1, 1, argument]
        case 6: packet.ipOptions = packet.isIPv6 ? [] : [1, 1, 1, argument]
        case 7: packet.omitsChecksum = true
        case 8: packet.payload = [UInt8](repeating: argument, count: Int(argument))
        case 9: packet.acknowledgement = UInt32(argument)
        default: break
        }
        sequence &+= UInt32(packet.payload.count)
        var built = packet.bytes
        if step >> 6 == 3 { built[Int(argument) % built.count] ^= 1 }
        packets.append(built)
    }
    guard let written = written(packets) else { return }
    precondition(written.flatMap { cut($0) ?? [] }.map(normal) == packets.map(normal), "merging changed the packets")
}

/// What a device is given for a batch of packets.
private func written(_ packets: [[UInt8]]) -> [[UInt8]]? {
    guard !packets.isEmpty, let (inside, outside) = try? packetPair() else { return nil }
    let device = TunDevice(
        descriptor: inside,
        name: "fuzz",
        headerLength: VirtioHeader.size,
        offloads: [.checksum, .tcp, .udp]
    )
    let writer = TunWriter(device)
    let stride = 512
    let memory = UnsafeMutableRawPointer.allocate(byteCount: packets.count * stride, alignment: 8)
    defer { unsafe memory.deallocate() }
    for (index, packet) in packets.enumerated() {
        let place = unsafe memory + index * stride + Coalescer.headroom
        unsafe place.copyMemory(from: packet, byteCount: packet.count)
        unsafe writer.deliver(place, length: packet.count)
    }
    writer.flush()
    return receiveAll(outside.raw)
}
