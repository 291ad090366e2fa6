/// What a datagram claims to be, by its type and length; nothing of it is authenticated yet.
///
/// The first byte is the type, and the three behind it are zero. Source: WireGuard whitepaper, section 5.4.
package enum DatagramKind: Hashable, Sendable {
    case initiation, response, cookieReply, transport
    /// Another type, or a length that the type can't have.
    case malformed

    package static var initiationSize: Int { @_noAllocation @_noLocks get { 148 } }
    package static var responseSize: Int { @_noAllocation @_noLocks get { 92 } }
    package static var cookieReplySize: Int { @_noAllocation @_noLocks get { 64 } }
    /// The header and the tag of an empty packet.
    package static var smallestTransportSize: Int { @_noAllocation @_noLocks get { 32 } }

    @_noAllocation @_noLocks
    package init(of datagram: borrowing MutableRawSpan) {
        let count = datagram.byteCount
        guard count >= Self.smallestTransportSize else {
            self = .malformed
            return
        }
        switch UInt32(littleEndian: unsafe datagram.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)) {
        case 1 where count == Self.initiationSize: self = .initiation
        case 2 where count == Self.responseSize: self = .response
        case 3 where count == Self.cookieReplySize: self = .cookieReply
        case 4: self = .transport
        default: self = .malformed
        }
    }

    /// Whether it belongs to the owner of handshakes instead of the packet loop.
    package var isHandshake: Bool {
        @_noAllocation @_noLocks
        get {
            switch self {
            case .initiation, .response, .cookieReply: true
            case .transport, .malformed: false
            }
        }
    }
}
