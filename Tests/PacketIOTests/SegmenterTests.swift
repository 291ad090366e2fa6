import PacketIO
import PacketTestSupport
import Testing

@Suite struct SegmenterTests {
    @Test(arguments: [true, false], [true, false])
    func `every super-packet is cut into the packets it stands for`(isIPv6: Bool, isTCP: Bool) {
        var generator = SystemRandomNumberGenerator()
        for round in 0..<40 {
            var packet = TestPacket(isIPv6: isIPv6, isTCP: isTCP)
            packet.trafficClass = .random(in: 0...255, using: &generator)
            packet.identification = round % 5 == 0 ? 0xfffe : .random(in: 0...0xffff, using: &generator)
            packet.fragment = Bool.random() ? 0x4000 : 0
            packet.sequence = round % 5 == 0 ? 0xffff_ff00 : .random(in: 0...(.max), using: &generator)
            packet.acknowledgement = .random(in: 0...(.max), using: &generator)
            packet.flags = .random(in: 0...255, using: &generator)
            packet.window = .random(in: 0...0xffff, using: &generator)
            if !isIPv6, round % 7 == 0 { packet.ipOptions = [1, 1, 1, 0] }
            packet.tcpOptions = (0..<Int.random(in: 0...10) * 4).map { _ in .random(in: 0...255) }
            let size = Int.random(in: 1...1400)
            packet.payload = (0..<Int.random(in: 1...min(60000, size * 20))).map { _ in .random(in: 0...255) }
            #expect(cut(packet.superPacket(segmentSize: size)) == packet.segments(of: size).map(\.bytes))
        }
    }

    @Test func `FIN and PSH stand on the last segment, CWR on the first, the others on each`() {
        let packet = TestPacket(flags: 0xff, payload: [UInt8](repeating: 7, count: 3))
        let flags = cut(packet.superPacket(segmentSize: 1))?.map { $0[33] }
        #expect(flags == [0xff & ~0x09, 0xff & ~0x89, 0xff & ~0x80])
    }

    @Test(arguments: [true, false]) func `the pieces behind the first may be of another size`(isIPv6: Bool) throws {
        let packet = TestPacket(
            isIPv6: isIPv6,
            sequence: 0xffff_ffff,
            flags: 0x19,
            payload: (0..<250).map { UInt8($0) }
        )
        var given = Array(packet.superPacket(segmentSize: 100).dropFirst(VirtioHeader.size))
        var header = VirtioHeader()
        header.needsChecksum = true
        header.kind = isIPv6 ? .tcp6 : .tcp4
        header.checksumStart = isIPv6 ? 40 : 20
        header.segmentSize = 100
        var pieces: [[UInt8]] = []
        unsafe given.withUnsafeMutableBytes { memory in
            guard let base = memory.baseAddress,
                var segments = unsafe Segmenter.cutting(base, length: memory.count, header: header)
            else { return }
            while segments.nextLength > 0 {
                var piece = [UInt8](repeating: 0, count: segments.nextLength)
                unsafe piece.withUnsafeMutableBytes { if let to = $0.baseAddress { unsafe segments.next(into: to) } }
                pieces.append(piece)
                segments.resize(to: 60)
            }
        }
        #expect(pieces.map { $0.count - packet.headerLength } == [100, 60, 60, 30])
        #expect(pieces.first == packet.segments(of: 100)[0].bytes)
        // Where each piece begins, and that nothing is lost or wrong in between.
        #expect(pieces.flatMap { $0.dropFirst(packet.headerLength) } == packet.payload)
        #expect(pieces.last?.dropFirst(isIPv6 ? 44 : 24).prefix(4).elementsEqual(big(packet.sequence &+ 220)) == true)
    }

    @Test func `a packet without work left is given as it is`() {
        let packet = TestPacket(payload: [1, 2, 3]).bytes
        #expect(cut(VirtioHeader().bytes + packet) == [packet])
    }

    @Test(arguments: [true, false], [true, false])
    func `a checksum that a socket left to the device is completed`(isIPv6: Bool, isTCP: Bool) {
        for value in UInt8(0)...255 {
            let packet = TestPacket(isIPv6: isIPv6, isTCP: isTCP, payload: [1, 2, value])
            var given = packet.superPacket(segmentSize: 0)
            given[1] = 0  // gso_type
            #expect(cut(given) == [packet.bytes])
        }
    }

    @Test func `a header that contradicts its packet is refused`() {
        let packet = TestPacket(payload: [UInt8](repeating: 1, count: 100))
        let good = packet.superPacket(segmentSize: 10)
        #expect(cut(good)?.count == 10)
        /// gso_type for IPv6, UFO, unknown; no checksum wanted; gso_size 0; csum_start; the packet's own version.
        for (index, value) in [(1, 4), (1, 3), (1, 9), (0, 0), (4, 0), (6, 24), (6, 16), (7, 0xff), (10, 0x65)] {
            var bad = good
            bad[index] = UInt8(value)
            #expect(cut(bad) == nil)
        }
        for count in VirtioHeader.size...(VirtioHeader.size + 40) { #expect(cut(Array(good.prefix(count))) == nil) }
    }

    @Test func `random headers before random packets are cut or refused, and never trap`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<3000 {
            var given = (0..<Int.random(in: 10...150)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            given[0] &= 1
            given[1] = [0, 1, 4, 5].randomElement(using: &generator) ?? 0
            for index in [3, 5, 7, 9] { given[index] = 0 }
            if given.count > 10 { given[10] = Bool.random() ? 0x45 : 0x60 }
            for segment in cut(given) ?? [] { #expect(segment.count <= given.count) }
        }
    }
}
