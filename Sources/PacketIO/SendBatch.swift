import CShims

/// Datagrams waiting to be sent, back to back in one arena, in groups that the kernel takes as one.
///
/// A group has one destination and one ECN mark; its datagrams are equally long, the last one maybe shorter. A message is
/// built at `next`, up to `room` bytes, and then appended.
@safe package final class SendBatch {
    /// Bytes collected at which sending pays (data-path-notes, section 2).
    package static let threshold = 200 * 1024
    package static let capacity = 512 * 1024
    /// The kernel's limits for a group: UDP_MAX_SEGMENTS before Linux 6.9, and the longest UDP payload.
    package static let longestGroup = 64
    package static let longestGroupIPv4 = 65507
    package static let longestGroupIPv6 = 65527
    private static let groupCapacity = 256

    private let arena: UnsafeMutableRawPointer
    private let list: UnsafeMutablePointer<shim_udp_group>
    private var used = 0
    private(set) var count = 0
    private var datagrams = 0
    private var isOpen = false

    package init() {
        unsafe arena = .allocate(byteCount: SendBatch.capacity, alignment: 64)
        unsafe list = .allocate(capacity: SendBatch.groupCapacity)
    }

    deinit {
        unsafe arena.deallocate()
        unsafe list.deallocate()
    }

    package var isEmpty: Bool { count == 0 }
    /// Bytes that a message may have; `wantsSending` comes well before it gets short of a single one.
    package var room: Int { SendBatch.capacity &- used }
    /// Where the next message is built.
    package var next: UnsafeMutableRawPointer { unsafe arena + used }
    /// Whether enough is collected, or the next message might not find a place.
    package var wantsSending: Bool { used >= SendBatch.threshold || count == SendBatch.groupCapacity }

    /// Takes the message of `length` bytes at `next`; not while `wantsSending`.
    package func append(_ length: Int, to destination: SocketAddress, ecn: UInt8) {
        precondition(length > 0 && length <= room)
        let longest = destination.isIPv6 ? SendBatch.longestGroupIPv6 : SendBatch.longestGroupIPv4
        if isOpen {
            let group = unsafe list + (count &- 1)
            let segment = Int(unsafe group.pointee.segment)
            let total = Int(unsafe group.pointee.length) &+ length
            if length <= segment, total <= longest, datagrams < SendBatch.longestGroup,
                unsafe group.pointee.ecn == ecn, unsafe group.pointee.destination.equals(destination)
            {
                unsafe group.pointee.length = UInt32(truncatingIfNeeded: total)
                datagrams &+= 1
                used &+= length
                isOpen = length == segment
                return
            }
        }
        precondition(count < SendBatch.groupCapacity)
        unsafe (list + count).initialize(
            to: shim_udp_group(
                data: UnsafeRawPointer(next),
                length: UInt32(truncatingIfNeeded: length),
                segment: UInt32(truncatingIfNeeded: length),
                destination: destination,
                ecn: ecn
            )
        )
        count &+= 1
        datagrams = 1
        used &+= length
        isOpen = true
    }

    var groups: UnsafeBufferPointer<shim_udp_group> { unsafe UnsafeBufferPointer(start: list, count: count) }

    /// Forgets all; the memory is used again.
    func clear() {
        used = 0
        count = 0
        isOpen = false
    }
}
