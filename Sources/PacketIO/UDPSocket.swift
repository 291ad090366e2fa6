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
        package static let all: Abilities = [.groups, .trains, .sendBatches, .receiveBatches]
    }

    /// What was said about datagrams to a destination, by the network (ICMP, so maybe forged) or by this machine.
    package struct PathError: Equatable, Sendable {
        /// nil where it isn't known.
        package let destination: Endpoint?
        /// An errno: ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EMSGSIZE and others.
        package let code: Int32
        /// With EMSGSIZE: the longest packet, IP header included, that passes, where that was said.
        ///
        /// It holds for the whole host; the port isn't always known, and 0 then.
        package let mtu: Int?

        package init(destination: Endpoint?, code: Int32, mtu: Int? = nil) {
            self.destination = destination
            self.code = code
            self.mtu = mtu
        }
    }

    package struct Counters: Equatable, Sendable {
        /// Datagrams that this machine refused to send.
        package var unsent: UInt64 = 0
        /// Groups that had to be sent as single datagrams.
        package var ungrouped: UInt64 = 0
        /// Groups and datagrams that were too long for their path, and sent in fragments.
        package var fragmented: UInt64 = 0

        package init() {}
    }

    package let descriptor: SharedDescriptor
    package let isIPv6: Bool
    package let port: UInt16
    /// What the kernel has, as far as it is allowed.
    package var abilities: Abilities { found.intersection(allowed) }
    /// What the kernel has.
    var found: Abilities
    private var allowed: Abilities = .all
    package internal(set) var counters = Counters()
    let calls: UDPCalls
    /// The latest group or datagram that was too long for its path, so that the next isn't tried in vain.
    var tooLong: TooLong?
    /// Whether the kernel refuses datagrams too long for their path (the rule), so that it is known, or cuts them itself.
    private(set) var refusesFragments = false
    /// Whether what the kernel refused so is sent in fragments then.
    private(set) var mayFragment = true
    /// Whether what is being sent may go in fragments.
    var isFragmenting = false
    /// Told, and not yet taken, at most `errorLimit`.
    private var pathErrors: [PathError] = []
    private static let errorLimit = 16
    /// Messages of a group that is sent singly.
    let singles: SingleGroups

    struct TooLong {
        let destination: SocketAddress
        let segment: UInt32
        /// Whether its datagrams pass all the same, only not as a group.
        let passesSingly: Bool
        /// What was treated so because of it; after some, it is tried again, for the path may have changed.
        var uses = 0

        init(_ group: shim_udp_group, passesSingly: Bool) {
            destination = unsafe group.destination
            segment = unsafe group.segment
            self.passesSingly = passesSingly
        }
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
        found = [.sendBatches, .receiveBatches]
        if shim_udp_probe_groups(raw) == 0 { found.insert(.groups) }
        if shim_udp_enable_trains(raw, true) == 0 { found.insert(.trains) }
        // Without these two there are no congestion marks and no word of closed ports: nothing to stop for.
        _ = shim_udp_enable_ecn(raw, isIPv6)
        _ = shim_udp_enable_errors(raw, isIPv6)
        refusesFragments = shim_udp_refuse_fragments(raw, isIPv6, true) == 0
    }

    /// Whether datagrams that are too long for the path, as far as that is known, leave in fragments, as they do at first.
    ///
    /// Where not, they are dropped and counted. A kernel that doesn't refuse them (ip(7), `IP_MTU_DISCOVER`) cuts them.
    package func setFragmentation(allowed: Bool) { mayFragment = allowed }

    /// Does with these abilities from now on, as far as the kernel has them.
    ///
    /// Trains that wait in the socket when they are switched off are lost: nothing would tell where their datagrams end.
    package func allow(_ allowed: Abilities) {
        if found.contains(.trains), allowed.contains(.trains) != self.allowed.contains(.trains) {
            _ = shim_udp_enable_trains(descriptor.raw, allowed.contains(.trains))
        }
        self.allowed = allowed
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
                found.remove(.receiveBatches)
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
            if result > 0 { note(error.code, error.destination, mtu: error.mtu > 0 ? Int(error.mtu) : nil) }
        }
        _ = shim_socket_error(descriptor.raw)
    }

    /// The errors told since the last time.
    package func takeErrors() -> [PathError] {
        guard !pathErrors.isEmpty else { return [] }
        defer { pathErrors.removeAll(keepingCapacity: true) }
        return pathErrors
    }

    /// Forgets what was found out about paths: they have changed.
    package func forgetPaths() { tooLong = nil }

    func note(_ code: Int32, _ destination: SocketAddress, mtu: Int? = nil) {
        let error = PathError(destination: destination.endpoint, code: code, mtu: mtu)
        guard pathErrors.count < UDPSocket.errorLimit, !pathErrors.contains(error) else { return }
        pathErrors.append(error)
    }
}
