import Glibc

/// Hands packets to the TUN device, merged where possible.
///
/// Packets stay in their place until `flush`; see `Coalescer` for the room before each.
package final class TunWriter {
    package struct Counters: Equatable, Sendable {
        /// Packets handed over, each counted by itself.
        package var packets: UInt64 = 0
        package var bytes: UInt64 = 0
        /// Lost because the interface was down or gone, or the kernel had no memory for them.
        package var dropped: UInt64 = 0
        /// Refused by the kernel as no packet.
        package var refused: UInt64 = 0

        package init() {}
    }

    package let device: TunDevice
    package private(set) var counters = Counters()
    /// The kernel refused a merged packet, so merging is off for good.
    package private(set) var gaveUpMerging = false
    /// Whether packets may be merged.
    package var mayMerge = true {
        didSet { coalescer.isMerging = mayMerge && !gaveUpMerging && device.headerLength > 0 }
    }
    private let coalescer: Coalescer

    package init(_ device: TunDevice) {
        self.device = device
        coalescer = Coalescer(hasHeader: device.headerLength > 0, mergesUDP: device.offloads.contains(.udp))
    }

    /// Takes a packet of 1 to 65535 bytes; order is kept.
    package func deliver(_ packet: UnsafeMutableRawPointer, length: Int) {
        if unsafe coalescer.add(packet, length: length) { return }
        flush()
        _ = unsafe coalescer.add(packet, length: length)
    }

    /// Writes what is held.
    package func flush() {
        guard coalescer.count > 0 else { return }
        let outcome = unsafe device.write(coalescer.finish())
        if outcome == .failed(EINVAL), coalescer.count > 1 {
            // A kernel that checks such packets more strictly: do without them.
            coalescer.undoFinish()
            coalescer.isMerging = false
            gaveUpMerging = true
            for index in 0..<coalescer.count { count(unsafe device.write(coalescer.single(index)), index..<index &+ 1) }
        } else {
            count(outcome, 0..<coalescer.count)
        }
        coalescer.clear()
    }

    private func count(_ outcome: TunDevice.Outcome, _ indices: Range<Int>) {
        let number = UInt64(truncatingIfNeeded: indices.count)
        switch outcome {
        case .moved:
            counters.packets &+= number
            for index in indices {
                counters.bytes &+= UInt64(truncatingIfNeeded: unsafe coalescer.packet(index).length)
            }
        case .failed(EINVAL):
            counters.refused &+= number
        case .empty, .down, .deleted, .failed:
            counters.dropped &+= number
        }
    }
}
