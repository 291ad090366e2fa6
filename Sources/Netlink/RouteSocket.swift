import CMnl
import CShims
import Glibc
import LinuxSystem
import Synchronization

/// A socket to rtnetlink in the network namespace of the thread that makes it.
///
/// Calls from several threads take turns.
package final class RouteSocket: NetlinkSocket {
    private let state: Mutex<Channel>

    /// - Throws: `socket` when the process may not open one.
    package init() throws(NetlinkError) {
        state = Mutex(try Channel())
    }

    package func request(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        try exclusively { (channel) throws(NetlinkError) in
            let sequence = channel.nextSequence()
            try channel.send(request.encoded(sequence: sequence, adding: NLM_F_ACK))
            var answers: [NetlinkMessage] = []
            while true {
                for message in try channel.receive(expecting: sequence...sequence) {
                    guard Int32(message.type) == NLMSG_ERROR else {
                        answers.append(message)
                        continue
                    }
                    if let refusal = try message.verdict() { throw refusal }
                    return answers
                }
            }
        }
    }

    package func dump(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        try exclusively { (channel) throws(NetlinkError) in
            for _ in 0..<dumpAttempts {
                if let whole = try channel.dumpOnce(request) { return whole }
            }
            throw .interrupted
        }
    }

    package func batch(_ requests: [NetlinkRequest]) throws(NetlinkError) -> [NetlinkError?] {
        try exclusively { (channel) throws(NetlinkError) in
            var results: [NetlinkError?] = []
            results.reserveCapacity(requests.count)
            var rest = requests[...]
            while !rest.isEmpty {
                let part = rest.prefix(batchLimit)
                results += try channel.carryOut(part)
                rest = rest.dropFirst(part.count)
            }
            return results
        }
    }

    /// Runs one exchange; after one that broke off in the middle the socket is made anew, for answers may still come.
    private func exclusively<Result: Sendable>(
        _ body: (inout Channel) throws(NetlinkError) -> Result
    ) throws(NetlinkError) -> Result {
        try state.withLock { (channel) throws(NetlinkError) -> Result in
            do throws(NetlinkError) {
                return try body(&channel)
            } catch {
                if case .refused = error { throw error }
                channel = try Channel()
                throw error
            }
        }
    }
}

/// How often a dump is tried whose table changes all the time.
private let dumpAttempts = 16
/// Requests in one datagram.
///
/// If each of them failed, their answers (about 1 KiB of socket memory each) still fit the default receive buffer of
/// 208 KiB (net.core.rmem_default).
private let batchLimit = 128
/// Larger than any datagram that the kernel makes for a dump (32 KiB, net/netlink/af_netlink.c).
private let bufferSize = 65536

/// One open socket; the lock around it makes each exchange whole.
@safe private struct Channel: ~Copyable {
    private let handle: OpaquePointer
    private var sequence: UInt32 = 0
    private var buffer = [UInt8](repeating: 0, count: bufferSize)

    init() throws(NetlinkError) { unsafe handle = try unsafe Channel.open() }

    private static func open() throws(NetlinkError) -> OpaquePointer {
        guard let handle = unsafe mnl_socket_open2(NETLINK_ROUTE, Int32(SOCK_CLOEXEC.rawValue)) else {
            throw .socket(SystemError(errno, in: "socket(AF_NETLINK)"))
        }
        guard unsafe mnl_socket_bind(handle, 0, MNL_SOCKET_AUTOPID) == 0 else {
            let code = errno
            _ = unsafe mnl_socket_close(handle)
            throw .socket(SystemError(code, in: "bind(AF_NETLINK)"))
        }
        // Older kernels lack some of these; then the texts are shorter and the dumps longer, nothing else.
        for option in [NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK] {
            var on: Int32 = 1
            _ = unsafe mnl_socket_setsockopt(handle, option, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        // The kernel answers while the request is being sent; waiting for ever would hide a fault.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        let descriptor = unsafe mnl_socket_get_fd(handle)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return unsafe handle
    }

    deinit { _ = unsafe mnl_socket_close(handle) }

    mutating func nextSequence() -> UInt32 {
        sequence &+= 1
        return sequence
    }

    func send(_ bytes: [UInt8]) throws(NetlinkError) {
        do throws(SystemError) {
            try check("sendto(AF_NETLINK)") {
                unsafe bytes.withUnsafeBytes { unsafe mnl_socket_sendto(handle, $0.baseAddress, $0.count) }
            }
        } catch {
            throw .socket(error)
        }
    }

    /// The messages of the next datagram.
    mutating func receive(expecting sequences: ClosedRange<UInt32>) throws(NetlinkError) -> [NetlinkMessage] {
        let count: Int
        do throws(SystemError) {
            count = try check("recvmsg(AF_NETLINK)") {
                unsafe buffer.withUnsafeMutableBytes { unsafe mnl_socket_recvfrom(handle, $0.baseAddress, $0.count) }
            }
        } catch {
            throw .socket(error)
        }
        let messages = try NetlinkMessage.split(Array(buffer[..<count]))
        for message in messages where !sequences.contains(message.sequence) {
            throw .wrongSequence(expected: sequences.upperBound, got: message.sequence)
        }
        return messages
    }

    /// Nil if the table changed while it was read.
    mutating func dumpOnce(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage]? {
        let sequence = nextSequence()
        try send(request.encoded(sequence: sequence, adding: NLM_F_DUMP))
        var answers: [NetlinkMessage] = []
        var changed = false
        while true {
            for message in try receive(expecting: sequence...sequence) {
                if Int32(message.flags) & NLM_F_DUMP_INTR != 0 { changed = true }
                guard [NLMSG_DONE, NLMSG_ERROR].contains(Int32(message.type)) else {
                    answers.append(message)
                    continue
                }
                if let refusal = try message.verdict() { throw refusal }
                return changed ? nil : answers
            }
        }
    }

    /// Sends the requests in one datagram; only failures and the last one are answered.
    mutating func carryOut(_ requests: ArraySlice<NetlinkRequest>) throws(NetlinkError) -> [NetlinkError?] {
        // So that the numbers of one batch never wrap around.
        if sequence > .max - UInt32(batchLimit) { sequence = 0 }
        var bytes: [UInt8] = []
        let first = sequence + 1
        for (offset, request) in requests.enumerated() {
            let isLast = offset == requests.count - 1
            bytes += request.encoded(sequence: nextSequence(), adding: isLast ? NLM_F_ACK : 0)
        }
        try send(bytes)
        var results = [NetlinkError?](repeating: nil, count: requests.count)
        let last = sequence
        while true {
            for message in try receive(expecting: first...last) where Int32(message.type) == NLMSG_ERROR {
                results[Int(message.sequence - first)] = try message.verdict()
                if message.sequence == last { return results }
            }
        }
    }
}
