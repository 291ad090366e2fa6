import CShims
import NetworkTypes

/// Merges packets of one flow that come one behind the other into a super-packet, which the kernel takes as one.
///
/// Holds one super-packet at a time, as references to the packets given; nothing is copied. The packets stay where they
/// are until the flush, with `headroom` bytes before each that may be overwritten. The second inner loop of the packet
/// path, on raw memory (with `MergeCandidate`).
@safe package final class Coalescer {
    /// Bytes needed before each packet, for its virtio-net header.
    package static let headroom = VirtioHeader.size
    /// Packets in one super-packet (Linux takes at most 64 UDP segments on older kernels, 128 on newer).
    package static let limit = 64

    /// Whether anything is merged; UDP only where the kernel knows such super-packets.
    package var isMerging: Bool
    private let mergesUDP: Bool
    private let hasHeader: Bool
    /// The packets, whole.
    private let packets: UnsafeMutablePointer<shim_part>
    /// What is written: the first packet with the virtio-net header before it, then payloads.
    private let parts: UnsafeMutablePointer<shim_part>
    /// The first packet's headers as they were, while they are those of the super-packet.
    private let original: UnsafeMutableRawPointer
    package private(set) var count = 0
    /// The first packet, if others may be merged with it.
    private var head: MergeCandidate?
    private var isOpen = false
    private var isPushed = false
    private var total = 0
    private var nextSequence: UInt32 = 0

    /// - Parameter hasHeader: the device takes virtio-net headers; without, nothing is merged.
    package init(hasHeader: Bool, mergesUDP: Bool) {
        self.hasHeader = hasHeader
        self.mergesUDP = mergesUDP
        isMerging = hasHeader
        unsafe packets = .allocate(capacity: Coalescer.limit)
        unsafe parts = .allocate(capacity: Coalescer.limit)
        unsafe original = .allocate(byteCount: 128, alignment: 8)
    }

    deinit {
        unsafe packets.deallocate()
        unsafe parts.deallocate()
        unsafe original.deallocate()
    }

    /// Takes a packet of 1 to 65535 bytes; an empty coalescer takes any.
    ///
    /// - Returns: false where the packet can't join those held, which are to be flushed first.
    package func add(_ packet: UnsafeMutableRawPointer, length: Int) -> Bool {
        guard count > 0 else {
            unsafe begin(packet, length)
            return true
        }
        guard isOpen, count < Coalescer.limit, let head,
            let candidate = unsafe MergeCandidate(packet, length: length, udp: mergesUDP),
            unsafe head.sharesFlow(self.packet(0).memory, with: candidate, packet),
            candidate.payloadLength <= head.payloadLength, total &+ candidate.payloadLength <= 0xffff,
            !head.isTCP || candidate.sequence == nextSequence
        else { return false }
        unsafe packets[count] = shim_part(base: packet, length: length)
        count &+= 1
        total &+= candidate.payloadLength
        nextSequence = nextSequence &+ UInt32(truncatingIfNeeded: candidate.payloadLength)
        isPushed = candidate.isPushed
        isOpen = !isPushed && candidate.payloadLength == head.payloadLength
        return true
    }

    private func begin(_ packet: UnsafeMutableRawPointer, _ length: Int) {
        unsafe packets[0] = shim_part(base: packet, length: length)
        count = 1
        head = isMerging ? unsafe MergeCandidate(packet, length: length, udp: mergesUDP) : nil
        guard let head else {
            isOpen = false
            return
        }
        total = length
        nextSequence = head.sequence &+ UInt32(truncatingIfNeeded: head.payloadLength)
        isPushed = head.isPushed
        isOpen = !isPushed
    }

    /// A packet held, whole.
    func packet(_ index: Int) -> (memory: UnsafeMutableRawPointer, length: Int) {
        let entry = unsafe packets[index]
        return unsafe (entry.base, entry.length)
    }

    /// What is to be written for all packets held: one packet, with its virtio-net header where the device has them.
    func finish() -> UnsafeBufferPointer<shim_part> {
        guard count > 1, let head else { return unsafe single(0) }
        let (first, length) = unsafe packet(0)
        unsafe original.copyMemory(from: first, byteCount: head.headerLength)
        unsafe head.makeSuperPacket(first, total: total, isPushed: isPushed)
        var header = VirtioHeader()
        header.needsChecksum = true
        header.kind = head.isTCP ? (head.isIPv6 ? .tcp6 : .tcp4) : .udp
        header.headerLength = UInt16(truncatingIfNeeded: head.headerLength)
        header.segmentSize = UInt16(truncatingIfNeeded: head.payloadLength)
        header.checksumStart = UInt16(truncatingIfNeeded: head.ipLength)
        header.checksumOffset = head.isTCP ? 16 : 6
        unsafe header.store(to: first - VirtioHeader.size)
        unsafe parts[0] = shim_part(base: first - VirtioHeader.size, length: length &+ VirtioHeader.size)
        var index = 1
        while index < count {
            let (memory, length) = unsafe packet(index)
            unsafe parts[index] = shim_part(
                base: memory + head.headerLength,
                length: length &- head.headerLength
            )
            index &+= 1
        }
        return unsafe UnsafeBufferPointer(start: parts, count: count)
    }

    /// Makes the packets again what they were before `finish`, for writing them one by one.
    func undoFinish() {
        guard count > 1, let head else { return }
        unsafe packet(0).memory.copyMemory(from: original, byteCount: head.headerLength)
    }

    /// What is to be written for one of the packets held, with a fresh header that asks for nothing.
    func single(_ index: Int) -> UnsafeBufferPointer<shim_part> {
        let (memory, length) = unsafe packet(index)
        if hasHeader {
            unsafe VirtioHeader().store(to: memory - VirtioHeader.size)
            unsafe parts[0] = shim_part(base: memory - VirtioHeader.size, length: length &+ VirtioHeader.size)
        } else {
            unsafe parts[0] = shim_part(base: memory, length: length)
        }
        return unsafe UnsafeBufferPointer(start: parts, count: 1)
    }

    /// Forgets the packets held.
    func clear() {
        count = 0
        isOpen = false
    }
}

extension MergeCandidate {
    /// Rewrites the headers of the first packet for the `total` bytes of all.
    ///
    /// The checksum field gets the pseudo-header's sum, not complemented: the rest is the kernel's part (NEEDS_CSUM).
    fileprivate func makeSuperPacket(_ packet: UnsafeMutableRawPointer, total: Int, isPushed: Bool) {
        var sum = UInt64(UInt16(isTCP ? 6 : 17).bigEndian)
        if isIPv6 {
            let length = UInt16(truncatingIfNeeded: total &- 40).bigEndian
            unsafe packet.storeBytes(of: length, toByteOffset: 4, as: UInt16.self)
            sum = unsafe InternetChecksum.sum(packet + 8, count: 32, adding: sum)
        } else {
            let length = UInt16(truncatingIfNeeded: total).bigEndian
            unsafe packet.storeBytes(of: length, toByteOffset: 2, as: UInt16.self)
            unsafe packet.storeBytes(of: 0, toByteOffset: 10, as: UInt16.self)
            let header = unsafe InternetChecksum.finish(InternetChecksum.sum(packet, count: 20))
            unsafe packet.storeBytes(of: header, toByteOffset: 10, as: UInt16.self)
            sum = unsafe InternetChecksum.sum(packet + 12, count: 8, adding: sum)
        }
        let transport = unsafe packet + ipLength
        let length = UInt16(truncatingIfNeeded: total &- ipLength).bigEndian
        sum = sum &+ UInt64(length)
        if isTCP {
            let flags = unsafe transport.load(fromByteOffset: 13, as: UInt8.self)
            unsafe transport.storeBytes(of: isPushed ? flags | 0x08 : flags, toByteOffset: 13, as: UInt8.self)
            unsafe transport.storeBytes(of: InternetChecksum.fold(sum), toByteOffset: 16, as: UInt16.self)
        } else {
            unsafe transport.storeBytes(of: length, toByteOffset: 4, as: UInt16.self)
            unsafe transport.storeBytes(of: InternetChecksum.fold(sum), toByteOffset: 6, as: UInt16.self)
        }
    }
}
