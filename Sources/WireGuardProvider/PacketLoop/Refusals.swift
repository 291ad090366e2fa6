import NetworkTypes
import PacketIO

/// Answers packets that can't be delivered with ICMP errors, which go back into the TUN device.
///
/// Belongs to the packet loop's queue. Anybody on this machine, or behind it, can provoke such answers, so there are few of
/// each kind: a burst is for a program that tries many addresses at once, or for many flows over a path that has become
/// narrower. Linux's own limits are no help: for packets of this machine itself it has none.
@safe final class Refusals {
    /// As RFC 4443, section 2.4 (f) suggests.
    static let perSecond = 10
    /// As net.ipv4.icmp_msgs_burst is by default.
    static let burst = 50

    private let writer: TunWriter
    private var unreachable = TokenBucket(perSecond: Refusals.perSecond, burst: Refusals.burst)
    private var tooBig = TokenBucket(perSecond: Refusals.perSecond, burst: Refusals.burst)
    /// The answer, behind the room that the writer needs; then the packet as it would have gone out.
    private let memory: UnsafeMutableRawPointer
    private static let answerOffset = 64
    private static let packetOffset = answerOffset + ICMPError.longestIPv6

    init(_ writer: TunWriter) {
        self.writer = writer
        unsafe memory = .allocate(byteCount: Refusals.packetOffset + 65536, alignment: 64)
    }

    deinit { unsafe memory.deallocate() }

    /// Answers a packet as it was read from the device, where that is allowed.
    ///
    /// A super-packet gets one answer, about the first of the packets that it stands for.
    ///
    /// - Parameters:
    ///   - header: what `packet` begins with.
    ///   - segments: the packets that it stands for, none of them taken yet.
    func refuse(
        _ packet: UnsafeMutableRawPointer,
        _ header: IPHeader,
        _ error: ICMPError,
        now: Instant,
        _ segments: @autoclosure () -> Segmenter?
    ) {
        guard unsafe ICMPError.isAllowed(about: packet, header), take(error, now), var segments = segments() else {
            return
        }
        let length = segments.nextLength
        let quoted = unsafe memory + Refusals.packetOffset
        unsafe segments.next(into: quoted)
        let answer = unsafe memory + Refusals.answerOffset
        // Without what may lie behind a packet.
        let size = unsafe error.write(about: quoted, length: min(length, header.totalLength), to: answer)
        unsafe writer.deliver(answer, length: size)
        writer.flush()
    }

    private func take(_ error: ICMPError, _ now: Instant) -> Bool {
        switch error {
        case .unreachable: unreachable.take(now: now)
        case .tooBig: tooBig.take(now: now)
        }
    }
}
