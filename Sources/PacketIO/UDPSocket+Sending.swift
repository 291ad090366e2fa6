import CShims
import Glibc
import LinuxSystem

extension UDPSocket {
    /// Times that a refusal may be answered by trying again, and milliseconds that a full send buffer is waited for.
    private static let attempts = 3
    private static let patience: Int32 = 5
    /// Groups and datagrams treated as too long for the path, after one was, before one is tried again.
    private static let caution = 100

    /// Sends groups of this socket's family, all of them, in order; what the machine refuses is dropped and counted.
    func send(_ groups: UnsafeBufferPointer<shim_udp_group>) {
        guard let base = groups.baseAddress else { return }
        var index = 0
        var attempt = 0
        while index < groups.count {
            let group = unsafe base + index
            if unsafe isTooLong(group.pointee) {
                unsafe sendTooLong(group.pointee)
                index += 1
                continue
            }
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
            case .tooLong: unsafe handleTooLong(group.pointee, refusedWith: -result)
            case .drop: unsafe drop(group.pointee, -result)
            }
            index += 1
            attempt = 0
        }
    }

    private enum Answer { case again, sent, ungroup, tooLong, drop }

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
        case EMSGSIZE where !isFragmenting && (refusesFragments || isGroup):
            // Never tried again at once in this size (C058).
            return .tooLong
        case EINVAL where isGroup && refusesFragments && !isFragmenting:
            // The kernel knows the option but not for this (C066), or is one that calls a group too long for the path so.
            return .tooLong
        case EIO where isGroup, EINVAL where isGroup:
            // The route's device can't compute checksums, or the kernel knows the option but not for this (C066).
            found.remove(.groups)
            return .ungroup
        case ENOSYS where abilities.contains(.sendBatches):
            found.remove(.sendBatches)
            return .again
        case EPERM where abilities.contains(.sendBatches):
            // A filter on system calls or one on packets: the latter refuses a single call as well (C067).
            let result = unsafe withUnsafePointer(to: group) { unsafe calls.sendOne(descriptor.raw, $0) }
            guard result > 0 else { return .drop }
            found.remove(.sendBatches)
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
        while last < end, last - index < Int(SHIM_UDP_BATCH), unsafe !mustUngroup(base[last]),
            unsafe !isTooLong(base[last])
        {
            last += 1
        }
        return unsafe calls.send(descriptor.raw, base + index, Int32(truncatingIfNeeded: last - index))
    }

    private func mustUngroup(_ group: shim_udp_group) -> Bool {
        unsafe group.length > group.segment && !abilities.contains(.groups)
    }

    /// Whether one of this length is known not to pass as it is.
    private func isTooLong(_ group: shim_udp_group) -> Bool {
        guard let tooLong, !isFragmenting, unsafe !tooLong.passesSingly || group.length > group.segment,
            unsafe group.segment >= tooLong.segment, unsafe group.destination.equals(tooLong.destination)
        else { return false }
        return tooLong.uses < UDPSocket.caution
    }
}

extension UDPSocket {
    /// Finds out what is wrong with what was refused as too long, and sends as much of it as may be.
    ///
    /// Its first datagram is tried alone: of a group refused the kernel doesn't say how long it might be, older kernels call it
    /// an invalid argument, and a refusal may have been about an earlier datagram, told of by ICMP.
    private func handleTooLong(_ group: shim_udp_group, refusedWith code: Int32) {
        guard refusesFragments else {
            tooLong = unsafe TooLong(group, passesSingly: true)
            return unsafe sendTooLong(group)
        }
        collectErrors()
        var first = unsafe group
        unsafe first.length = min(group.segment, group.length)
        let isGroup = unsafe first.length < group.length
        let result = unsafe calls.sendOne(descriptor.raw, &first)
        if result == -EMSGSIZE {
            collectErrors()
            tooLong = unsafe TooLong(group, passesSingly: false)
            return unsafe sendTooLong(group)
        }
        if isGroup && result > 0 {
            if code == EINVAL { found.remove(.groups) } else { tooLong = unsafe TooLong(group, passesSingly: true) }
        }
        if isGroup || result <= 0 { unsafe sendSingly(group, from: result > 0 ? first.length : 0) }
    }

    /// Sends what is known not to pass whole, in the way that is left.
    private func sendTooLong(_ group: shim_udp_group) {
        tooLong?.uses += 1
        guard tooLong?.passesSingly == false else { return unsafe sendSingly(group) }
        guard mayFragment else { return unsafe count(unsent: group) }
        counters.fragmented &+= 1
        isFragmenting = true
        _ = shim_udp_refuse_fragments(descriptor.raw, isIPv6, false)
        unsafe sendSingly(group)
        _ = shim_udp_refuse_fragments(descriptor.raw, isIPv6, true)
        isFragmenting = false
    }

    /// Sends the datagrams of a group one by one.
    private func sendSingly(_ group: shim_udp_group, from start: UInt32 = 0) {
        if unsafe group.length > group.segment { counters.ungrouped &+= 1 }
        var count = 0
        var offset = start
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

    private func count(unsent group: shim_udp_group) {
        let datagrams = unsafe group.segment > 0 ? (group.length + group.segment - 1) / group.segment : 1
        counters.unsent &+= UInt64(datagrams)
    }

    private func drop(_ group: shim_udp_group, _ code: Int32) {
        unsafe count(unsent: group)
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
