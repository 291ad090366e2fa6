import CShims
import Glibc
import LinuxSystem

extension UDPSocket {
    /// Times that a refusal may be answered by trying again, and milliseconds that a full send buffer is waited for.
    private static let attempts = 3
    private static let patience: Int32 = 5
    /// Groups sent singly, after one was too long for the path, before a group is tried again.
    private static let caution = 1000

    /// Sends groups of this socket's family, all of them, in order; what the machine refuses is dropped and counted.
    func send(_ groups: UnsafeBufferPointer<shim_udp_group>) {
        guard let base = groups.baseAddress else { return }
        var index = 0
        var attempt = 0
        while index < groups.count {
            let group = unsafe base + index
            if unsafe mustUngroup(group.pointee) {
                unsafe sendSingly(group.pointee)
                index += 1
                continue
            }
            let result = unsafe sendSome(base, from: index, to: groups.count)
            if result > 0 {
                index += Int(result)
                attempt = 0
                continue
            }
            attempt += 1
            switch unsafe answer(to: -result, for: group.pointee, attempt: attempt) {
            case .again: continue
            case .sent: break
            case .ungroup: unsafe sendSingly(group.pointee)
            case .drop: unsafe drop(group.pointee, -result)
            }
            index += 1
            attempt = 0
        }
    }

    private enum Answer { case again, sent, ungroup, drop }

    /// What to do where the first group of a call was refused.
    private func answer(to code: Int32, for group: shim_udp_group, attempt: Int) -> Answer {
        let isGroup = unsafe group.length > group.segment
        switch code {
        case EINTR:
            return attempt <= UDPSocket.attempts ? .again : .drop
        case EAGAIN:
            guard attempt <= UDPSocket.attempts else { return .drop }
            _ = shim_wait_writable(descriptor.raw, UDPSocket.patience)
            return .again
        case EMSGSIZE where isGroup:
            // The same datagrams may pass singly, as fragments. Never try this size as a group again at once (C058).
            tooLong = unsafe TooLong(destination: group.destination, segment: group.segment, uses: 0)
            return .ungroup
        case EIO where isGroup, EINVAL where isGroup:
            // The route's device can't compute checksums, or the kernel knows the option but not for this (C066).
            abilities.remove(.groups)
            return .ungroup
        case ENOSYS where abilities.contains(.sendBatches):
            abilities.remove(.sendBatches)
            return .again
        case EPERM where abilities.contains(.sendBatches):
            // A filter on system calls or one on packets: the latter refuses a single call as well (C067).
            let result = unsafe withUnsafePointer(to: group) { unsafe calls.sendOne(descriptor.raw, $0) }
            guard result > 0 else { return .drop }
            abilities.remove(.sendBatches)
            return .sent
        case ENOSYS, EPERM:
            return .drop
        case ENOBUFS, ENOMEM, EMSGSIZE, EINVAL, EIO:
            return .drop
        default:
            // Maybe told of an earlier datagram by ICMP, and then told once.
            return attempt < UDPSocket.attempts ? .again : .drop
        }
    }

    private func sendSome(_ base: UnsafePointer<shim_udp_group>, from index: Int, to end: Int) -> Int32 {
        guard abilities.contains(.sendBatches) else { return unsafe calls.sendOne(descriptor.raw, base + index) }
        var last = index + 1
        while last < end, last - index < Int(SHIM_UDP_BATCH), unsafe !mustUngroup(base[last]) { last += 1 }
        return unsafe calls.send(descriptor.raw, base + index, Int32(truncatingIfNeeded: last - index))
    }

    private func mustUngroup(_ group: shim_udp_group) -> Bool {
        guard unsafe group.length > group.segment else { return false }
        guard abilities.contains(.groups) else { return true }
        guard let tooLong, unsafe group.segment >= tooLong.segment, unsafe group.destination.equals(tooLong.destination)
        else {
            return false
        }
        return tooLong.uses < UDPSocket.caution
    }
}

extension UDPSocket {
    /// Sends the datagrams of a group one by one.
    private func sendSingly(_ group: shim_udp_group) {
        counters.ungrouped &+= 1
        tooLong?.uses += 1
        var count = 0
        var offset: UInt32 = 0
        while unsafe offset < group.length, count < SendBatch.longestGroup {
            let length = unsafe min(group.segment, group.length - offset)
            unsafe (singles.list + count).initialize(
                to: shim_udp_group(
                    data: group.data + Int(offset),
                    length: length,
                    segment: length,
                    destination: group.destination,
                    ecn: group.ecn
                )
            )
            offset += length
            count += 1
        }
        unsafe send(UnsafeBufferPointer(start: singles.list, count: count))
    }

    private func drop(_ group: shim_udp_group, _ code: Int32) {
        let datagrams = unsafe group.segment > 0 ? (group.length + group.segment - 1) / group.segment : 1
        counters.unsent &+= UInt64(datagrams)
        switch code {
        case EAGAIN, ENOBUFS, ENOMEM, EINTR: break  // Says nothing about the path.
        default: unsafe note(code, group.destination)
        }
    }
}

/// Room for the datagrams of one group, each a group by itself.
@safe final class SingleGroups {
    let list: UnsafeMutablePointer<shim_udp_group>

    init() { unsafe list = .allocate(capacity: SendBatch.longestGroup) }

    deinit { unsafe list.deallocate() }
}

extension SendBatch {
    /// Sends all, in order, each group on the socket of its family, and forgets it.
    ///
    /// - Returns: the number of groups that had no socket.
    package func send(over v4: UDPSocket?, _ v6: UDPSocket?) -> Int {
        let groups = unsafe groups
        var homeless = 0
        var start = 0
        while start < groups.count {
            let isIPv6 = unsafe groups[start].destination.isIPv6
            var end = start + 1
            while end < groups.count, unsafe groups[end].destination.isIPv6 == isIPv6 { end += 1 }
            if let socket = isIPv6 ? v6 : v4 {
                unsafe socket.send(UnsafeBufferPointer(rebasing: groups[start..<end]))
            } else {
                homeless += end - start
            }
            start = end
        }
        clear()
        return homeless
    }
}
