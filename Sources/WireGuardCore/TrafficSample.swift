package import NetworkTypes

/// What the packet loop knows of one peer's traffic, as the owner of timers reads it.
///
/// The loop never tells of a packet. It keeps these few fields, and calls for a timer only where `wantsTimer` while nobody
/// watches (`DeviceAction.watch`).
package struct TrafficSample: Hashable, Sendable {
    /// When a packet with content was last sent.
    package private(set) var lastDataSent: Instant?
    /// When any packet was last sent, a keepalive too.
    package private(set) var lastAnySent: Instant?
    /// When an authentic packet with content last came in.
    package private(set) var lastDataReceived: Instant?
    /// When any authentic packet last came in.
    package private(set) var lastAnyReceived: Instant?
    /// When the first packet with content was sent after the last authentic one came in; nil where none was.
    package private(set) var unansweredSince: Instant?
    /// When the first packet with content came in after the last one was sent; nil where none did: we owe a sign of life.
    package private(set) var owedSince: Instant?
    /// Whether packets wait for a session.
    package var isWaiting = false
    /// UDP payload sent, in bytes, with headers and tags.
    package private(set) var sentBytes: UInt64 = 0
    /// UDP payload of authentic packets received, in bytes.
    package private(set) var receivedBytes: UInt64 = 0

    package init() {}

    /// Whether a timer must run for this peer because of its traffic.
    package var wantsTimer: Bool { unansweredSince != nil || owedSince != nil }

    /// Packets were sent, a batch at a time.
    ///
    /// - Parameter isData: whether one of them had content.
    package mutating func noteSent(isData: Bool, bytes: Int, now: Instant) {
        sentBytes &+= UInt64(truncatingIfNeeded: bytes)
        lastAnySent = now
        owedSince = nil
        guard isData else { return }
        lastDataSent = now
        if unansweredSince == nil { unansweredSince = now }
    }

    /// Authentic packets came in, a batch at a time.
    ///
    /// - Parameter isData: whether one of them had content.
    package mutating func noteReceived(isData: Bool, bytes: Int, now: Instant) {
        receivedBytes &+= UInt64(truncatingIfNeeded: bytes)
        lastAnyReceived = now
        unansweredSince = nil
        guard isData else { return }
        lastDataReceived = now
        if owedSince == nil { owedSince = now }
    }

    /// A new session was installed: handshake messages went out, and they count as packets.
    ///
    /// As initiator we had an answer; as responder we don't know yet whether ours arrives.
    package mutating func noteInstalled(isInitiator: Bool, now: Instant) {
        guard isInitiator else {
            lastAnySent = now
            return
        }
        lastAnyReceived = now
        lastAnySent = now
        unansweredSince = nil
        owedSince = nil
    }
}
