/// A TAI64N label: seconds and nanoseconds that only ever grow, 12 bytes in big endian.
///
/// It proves an initiation newer than all before. Source: WireGuard whitepaper, section 5.1, and
/// https://cr.yp.to/libtai/tai64.html.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let seconds: UInt64
    /// Below 1,000,000,000 in what we make; anything in what a peer sends.
    package let nanoseconds: UInt32

    package static let byteCount = 12

    /// The label of the second in which 1970 began (UTC), with the ten leap seconds of that time.
    private static let epoch: UInt64 = 0x4000_0000_0000_000a

    package init(seconds: UInt64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The label of a wall-clock time, with its last 24 bits of nanoseconds cleared.
    ///
    /// What is left (17 ms) tells an observer little about our clock. Times before 1970 count as 1970.
    package init(wallSeconds: Int64, nanoseconds: UInt32) {
        self.init(
            seconds: Self.epoch &+ UInt64(max(0, wallSeconds)),
            nanoseconds: min(nanoseconds, 999_999_999) & ~(Self.step - 1)
        )
    }

    /// Reads 12 bytes; nil for any other count.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.init(
            seconds: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
            nanoseconds: bytes.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
        )
    }

    package var bytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: seconds >> UInt64(56 - $0 * 8)) }
            + (0..<4).map { UInt8(truncatingIfNeeded: nanoseconds >> UInt32(24 - $0 * 8)) }
    }

    /// The least distance of two labels that we make.
    private static let step: UInt32 = 1 << 24

    /// The next label after this one.
    package var next: Timestamp {
        let sum = UInt64(nanoseconds) + UInt64(Self.step)
        guard sum < 1_000_000_000 else { return adding(seconds: 1, nanoseconds: 0) }
        return Timestamp(seconds: seconds, nanoseconds: UInt32(sum))
    }

    package func adding(seconds more: UInt64) -> Timestamp { adding(seconds: more, nanoseconds: nanoseconds) }

    private func adding(seconds more: UInt64, nanoseconds: UInt32) -> Timestamp {
        let (sum, overflow) = seconds.addingReportingOverflow(more)
        return Timestamp(seconds: overflow ? .max : sum, nanoseconds: nanoseconds)
    }

    package static func < (a: Timestamp, b: Timestamp) -> Bool {
        (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds)
    }
}

/// Gives each initiation a label later than all before, also where the clock has been set back.
struct TimestampSource {
    /// What was stored by an earlier run; its last labels may not have been stored any more.
    private let floor: Timestamp?
    /// The latest label given to anybody, this run's and earlier ones'.
    private(set) var latest: Timestamp?

    /// How far beyond the stored label we start when the clock is behind it.
    private static let marginSeconds: UInt64 = 10

    init(floor: Timestamp?) {
        self.floor = floor
        latest = floor
    }

    /// A label for a peer: the present, or just after what the peer had last, or beyond what was stored.
    mutating func label(after last: Timestamp?, wallClock: Timestamp) -> Timestamp {
        var label = wallClock
        if let floor, label <= floor { label = floor.adding(seconds: Self.marginSeconds) }
        if let last, label <= last { label = last.next }
        latest = latest.map { max($0, label) } ?? label
        return label
    }

    /// Whether the clock shows a time before the latest label: it was set back.
    func isAhead(of wallClock: Timestamp) -> Bool { latest.map { $0 > wallClock } ?? false }
}
