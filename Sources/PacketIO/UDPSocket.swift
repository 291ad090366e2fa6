import CShims
import Glibc
package import LinuxSystem
package import NetworkTypes

/// A bound UDP socket of one family, in batches and with segmentation offload.
///
/// What the kernel or a system-call filter refuses is found out by trying, done in a plainer way from then on, and told by
/// `Abilities`. Belongs to one queue, the packet loop's.
package final class UDPSocket {
    /// What works here.
    package struct Abilities: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        /// Sending many datagrams to one destination as one (UDP_SEGMENT).
        package static let groups = Abilities(rawValue: 1)
        /// Receiving many datagrams of one source as one (UDP_GRO).
        package static let trains = Abilities(rawValue: 2)
        /// sendmmsg(2) and recvmmsg(2).
        package static let sendBatches = Abilities(rawValue: 4)
        package static let receiveBatches = Abilities(rawValue: 8)
    }

    /// What was said about datagrams to a destination, by the network (ICMP, so maybe forged) or by this machine.
    package struct PathError: Equatable, Sendable {
        /// nil where it isn't known.
        package let destination: Endpoint?
        /// An errno: ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EMSGSIZE and others.
        package let code: Int32

        package init(destination: Endpoint?, code: Int32) {
            self.destination = destination
            self.code = code
        }
    }

    package struct Counters: Equatable, Sendable {
        /// Datagrams that this machine refused to send.
        package var unsent: UInt64 = 0
        /// Groups that had to be sent as single datagrams.
        package var ungrouped: UInt64 = 0

        package init() {}
    }

    package let descriptor: SharedDescriptor
    package let isIPv6: Bool
    package let port: UInt16
    package internal(set) var abilities: Abilities
    package internal(set) var counters = Counters()
    let calls: UDPCalls
    /// The latest group that was too long for its path, so that the next isn't tried in vain.
    var tooLong: TooLong?
    /// Told, and not yet taken, at most `errorLimit`.
    private var pathErrors: [PathError] = []
    private static let errorLimit = 16
    /// Messages of a group that is sent singly.
    let singles: SingleGroups

    struct TooLong {
        let destination: SocketAddress
        let segment: UInt32
        /// Groups sent singly because of it; after some, a group is tried again, for the path may have changed.
        var uses: Int
    }

    /// Takes a socket that is bound, and marked where it has to be.
    ///
    /// - Throws: where it is no such socket. Missing offloads are no error.
    package init(adopting descriptor: SharedDescriptor, calls: UDPCalls = .kernel) throws(SystemError) {
        let raw = descriptor.raw
        var name = SocketAddress()
        try checkShim("getsockname") { unsafe shim_socket_name(raw, &name) }
        guard let local = name.endpoint else { throw SystemError(EAFNOSUPPORT, in: "getsockname") }
        self.descriptor = descriptor
        self.calls = calls
        isIPv6 = local.address.isIPv6
        port = local.port
        singles = SingleGroups()
        abilities = [.sendBatches, .receiveBatches]
        if shim_udp_probe_groups(raw) == 0 { abilities.insert(.groups) }
        if shim_udp_enable_trains(raw) == 0 { abilities.insert(.trains) }
        // Without these two there are no congestion marks and no word of closed ports: nothing to stop for.
        _ = shim_udp_enable_ecn(raw, isIPv6)
        _ = shim_udp_enable_errors(raw, isIPv6)
    }

    /// Whether datagrams that are too long for the path leave in fragments, which is the kernel's own habit.
    ///
    /// Where not, they carry "don't fragment", and sending one that is longer than the path is known to carry fails with
    /// EMSGSIZE (ip(7), `IP_MTU_DISCOVER`). A kernel that refuses keeps its habit.
    package func setFragmentation(allowed: Bool) {
        let (level, option) = isIPv6 ? (Int32(IPPROTO_IPV6), IPV6_MTU_DISCOVER) : (Int32(IPPROTO_IP), IP_MTU_DISCOVER)
        // IPv6's have the same numbers (linux/in6.h).
        var value = allowed ? IP_PMTUDISC_WANT : IP_PMTUDISC_DO
        _ = unsafe setsockopt(descriptor.raw, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Receives what is there, without waiting.
    ///
    /// - Parameter limit: how many trains are wanted; at most the ring's count.
    /// - Returns: how many trains of the ring were filled. Fewer than wanted: the socket is drained.
    package func receive(into ring: ReceiveRing, limit: Int = ReceiveRing.count) -> Int {
        let limit = Int32(truncatingIfNeeded: min(max(limit, 1), ReceiveRing.count))
        var attempts = 0
        // An error told here belongs to a datagram sent earlier, and is told once: then there may be some to receive.
        while attempts < 4 {
            let result =
                abilities.contains(.receiveBatches)
                ? unsafe calls.receive(descriptor.raw, ring.trains, limit)
                : unsafe calls.receiveOne(descriptor.raw, ring.trains)
            if result >= 0 { return Int(result) }
            if result == -EAGAIN { return 0 }
            if result == -ENOSYS || result == -EPERM {
                guard abilities.contains(.receiveBatches) else { return 0 }
                abilities.remove(.receiveBatches)
            }
            attempts += 1
        }
        return 0
    }

    /// Empties the socket's error queue, as far as a call's bound allows; to be called when epoll tells of an error.
    package func collectErrors() {
        var error = shim_udp_error()
        for _ in 0..<128 {
            let result = unsafe shim_udp_next_error(descriptor.raw, &error)
            if result < 0 { break }
            if result > 0 { note(error.code, error.destination) }
        }
        _ = shim_socket_error(descriptor.raw)
    }

    /// The errors told since the last time.
    package func takeErrors() -> [PathError] {
        guard !pathErrors.isEmpty else { return [] }
        defer { pathErrors.removeAll(keepingCapacity: true) }
        return pathErrors
    }

    func note(_ code: Int32, _ destination: SocketAddress) {
        let error = PathError(destination: destination.endpoint, code: code)
        guard pathErrors.count < UDPSocket.errorLimit, !pathErrors.contains(error) else { return }
        pathErrors.append(error)
    }
}
