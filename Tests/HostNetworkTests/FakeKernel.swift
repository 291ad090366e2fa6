import CShims
import Glibc
import LinuxSystem
import Netlink
import NetworkTypes
import Synchronization

@testable import HostNetwork

/// A pretended kernel: keeps links, addresses, routes and rules as rtnetlink is told, and fails where a test wants it.
///
/// It records every change that it was asked for.
final class FakeKernel: NetlinkSocket {
    struct Tables: Hashable {
        var links: [UInt32: FakeLink] = [:]
        var addresses: Set<InterfaceAddress> = []
        var routes: [KernelRoute] = []
        var rules: [FakeRule] = []
        var labels: Set<AddressLabel> = []
        /// Whether it knows labels at all.
        var hasLabels = true
        /// The answers of route look-ups, and the addresses that packets come from there where it isn't a usual one.
        var paths: [IPAddress: UInt32] = [:]
        var sources: [IPAddress: IPAddress?] = [:]

        /// The same, whatever the order in which things were added.
        var sorted: Tables {
            var copy = self
            copy.routes.sort { "\($0)" < "\($1)" }
            copy.rules.sort { "\($0)" < "\($1)" }
            return copy
        }
    }
    struct FakeLink: Hashable {
        var name: String
        var mtu: Int
        var isUp: Bool
    }
    struct FakeRule: Hashable {
        var rule: RoutingRule
        var owner: UInt8
    }

    private struct State {
        var tables = Tables()
        var changes = 0
        var failsAt: Int?
        var failure: Int32 = EINVAL
        var isDead = false
    }
    private let state = Mutex(State())

    /// A machine with an interface to the world and the tunnel's interface, number 7, "wg0".
    init(underlayMTU: Int = 1500) {
        state.withLock {
            $0.tables.links[2] = FakeLink(name: "eth0", mtu: underlayMTU, isUp: true)
            $0.tables.links[7] = FakeLink(name: "wg0", mtu: 1500, isUp: false)
        }
    }

    var tables: Tables { state.withLock { $0.tables.sorted } }
    /// How many changes were asked for.
    var changes: Int { state.withLock { $0.changes } }

    func change(_ body: (inout Tables) -> Void) { state.withLock { body(&$0.tables) } }

    /// Lets the change of that number (from 0, counted from now on) fail; nil for none.
    func fail(at number: Int?, with failure: Int32 = EINVAL) {
        state.withLock {
            $0.failsAt = number.map { [changes = $0.changes] in changes + $0 }
            $0.failure = failure
            $0.isDead = false
        }
    }

    /// Lets the change of that number and all after it do nothing, as if the process had died before them.
    func die(at number: Int) {
        state.withLock { state in
            state.failsAt = state.changes + number
            state.isDead = true
        }
    }

    func request(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        try perform(request)
    }

    func dump(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        let message = request.message
        let tables = state.withLock { $0.tables }
        switch Int(request.type) {
        case Int(RTM_GETADDR):
            // The real one lists those of a network in the order in which they came.
            return tables.addresses.sorted { $0.prefix < $1.prefix }.map(\.add.message)
        case Int(RTM_GETROUTE):
            let header = try message.read(rtmsg.self).header
            return tables.routes.filter { ($0.route.destination.address.family) == header.rtm_family }.map(\.message)
        case Int(RTM_GETRULE):
            let header = try message.read(fib_rule_hdr.self).header
            return tables.rules.filter { $0.rule.destination.address.family == header.family }.map(\.message)
        case Int(RTM_GETLINK):
            return tables.links.map { $0.value.message(index: $0.key) }
        case Int(RTM_GETADDRLABEL) where tables.hasLabels:
            return tables.labels.map(\.add.message)
        default:
            throw .refused(code: EOPNOTSUPP, text: nil)
        }
    }

    func batch(_ requests: [NetlinkRequest]) throws(NetlinkError) -> [NetlinkError?] {
        requests.map { request in
            do throws(NetlinkError) {
                _ = try perform(request)
                return nil
            } catch {
                return error
            }
        }
    }

    private func perform(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        let message = request.message
        return try state.withLock { (state) throws(NetlinkError) in
            switch Int(request.type) {
            case Int(RTM_GETLINK): return [try state.tables.link(message)]
            case Int(RTM_GETROUTE): return [try state.tables.path(message)]
            default: break
            }
            defer { state.changes += 1 }
            if let failsAt = state.failsAt {
                if state.isDead, state.changes >= failsAt { throw .refused(code: EIO, text: "dead") }
                if state.changes == failsAt { throw .refused(code: state.failure, text: nil) }
            }
            try state.tables.change(message)
            return []
        }
    }
}

extension FakeKernel.Tables {
    fileprivate func link(_ message: NetlinkMessage) throws(NetlinkError) -> NetlinkMessage {
        let (header, attributes) = try message.read(ifinfomsg.self)
        let name = attributes.string(IFLA_IFNAME)
        let found = links.first { $0.key == UInt32(header.ifi_index) || $0.value.name == name }
        guard let found else { throw .refused(code: ENODEV, text: nil) }
        return found.value.message(index: found.key)
    }

    fileprivate func path(_ message: NetlinkMessage) throws(NetlinkError) -> NetlinkMessage {
        let (header, attributes) = try message.read(rtmsg.self)
        guard let bytes = attributes[RTA_DST.rawValue], let address = IPAddress(bytes: bytes),
            let interface = paths[address]
        else { throw .refused(code: ENETUNREACH, text: nil) }
        return NetlinkRequest(RTM_NEWROUTE) {
            var answer = header
            answer.rtm_type = UInt8(RTN_UNICAST)
            $0.header(answer)
            $0.put(RTA_OIF.rawValue, interface)
            let usual: IPAddress? = IPAddress(address.isIPv6 ? "2001:db8:77::1" : "203.0.113.77")
            if let source = sources[address] ?? usual { $0.put(RTA_PREFSRC.rawValue, bytes: source.bytes) }
        }.message
    }

    fileprivate mutating func change(_ message: NetlinkMessage) throws(NetlinkError) {
        switch Int(message.type) {
        case Int(RTM_NEWLINK):
            let (header, attributes) = try message.read(ifinfomsg.self)
            let index = UInt32(header.ifi_index)
            guard links[index] != nil else { throw .refused(code: ENODEV, text: nil) }
            if let mtu: UInt32 = attributes.number(IFLA_MTU) { links[index]?.mtu = Int(mtu) }
            if header.ifi_change & UInt32(IFF_UP) != 0 { links[index]?.isUp = header.ifi_flags & UInt32(IFF_UP) != 0 }
        case Int(RTM_DELLINK):
            let index = UInt32(try message.read(ifinfomsg.self).header.ifi_index)
            guard links.removeValue(forKey: index) != nil else { throw .refused(code: ENODEV, text: nil) }
            addresses = addresses.filter { $0.interface != index }
            routes.removeAll { $0.route.interface == index }
        case Int(RTM_NEWADDR):
            guard let address = try InterfaceAddress(message), addresses.insert(address).inserted else {
                throw .refused(code: EEXIST, text: nil)
            }
            if let route = address.kernelRoute, !routes.contains(route) { routes.append(route) }
        case Int(RTM_DELADDR):
            guard let address = try InterfaceAddress(message), addresses.remove(address) != nil else {
                throw .refused(code: EADDRNOTAVAIL, text: nil)
            }
            let left = Set(addresses.compactMap(\.kernelRoute))
            routes.removeAll { $0 == address.kernelRoute && !left.contains($0) }
        case Int(RTM_NEWROUTE):
            guard let new = try KernelRoute(message), !routes.contains(where: { $0.isSamePlace(new) }) else {
                throw .refused(code: EEXIST, text: "File exists")
            }
            routes.append(new)
        case Int(RTM_DELROUTE):
            guard let old = try KernelRoute(message), let index = routes.firstIndex(of: old) else {
                throw .refused(code: ESRCH, text: nil)
            }
            routes.remove(at: index)
        case Int(RTM_NEWADDRLABEL), Int(RTM_DELADDRLABEL):
            guard let label = try AddressLabel(message) else { throw .refused(code: EINVAL, text: nil) }
            if Int(message.type) == Int(RTM_NEWADDRLABEL) {
                guard hasLabels, links[label.interface] != nil else { throw .refused(code: EINVAL, text: nil) }
                guard labels.insert(label).inserted else { throw .refused(code: EEXIST, text: nil) }
            } else {
                guard labels.remove(label) != nil else { throw .refused(code: ESRCH, text: nil) }
            }
        case Int(RTM_NEWRULE), Int(RTM_DELRULE):
            let read = try KernelRule(message)
            guard let rule = read.rule.map({ FakeKernel.FakeRule(rule: $0, owner: read.owner) }) else {
                throw .refused(code: EINVAL, text: nil)
            }
            let index = rules.firstIndex(of: rule)
            if Int(message.type) == Int(RTM_NEWRULE) {
                guard index == nil else { throw .refused(code: EEXIST, text: nil) }
                rules.append(rule)
            } else {
                guard let index else { throw .refused(code: ENOENT, text: nil) }
                rules.remove(at: index)
            }
        default:
            throw .refused(code: EOPNOTSUPP, text: nil)
        }
    }
}

extension InterfaceAddress {
    /// What the kernel makes with it: the route to its network.
    fileprivate var kernelRoute: KernelRoute? {
        guard !withoutPrefixRoute, prefix.length < prefix.address.bitCount else { return nil }
        return KernelRoute(
            Route(
                destination: prefix,
                table: Route.mainTable,
                metric: prefix.address.isIPv6 ? 256 : 0,  // IP6_RT_PRIO_ADDRCONF
                kind: .unicast,
                interface: interface
            ),
            owner: UInt8(RTPROT_KERNEL)
        )
    }
}

extension FakeKernel.FakeLink {
    fileprivate func message(index: UInt32) -> NetlinkMessage {
        NetlinkRequest(RTM_NEWLINK) {
            var header = ifinfomsg(index: index)
            header.ifi_flags = isUp ? UInt32(IFF_UP) : 0
            $0.header(header)
            $0.put(IFLA_IFNAME, string: name)
            $0.put(IFLA_MTU, UInt32(mtu))
        }.message
    }
}

extension FakeKernel.FakeRule {
    /// Our writer's message with the owner put in its place.
    fileprivate var message: NetlinkMessage {
        var body = rule.add.body
        let ours: [UInt8] = [5, 0, UInt8(FRA_PROTOCOL), 0, Ownership.routingProtocol]
        if let place = body.indices.first(where: { body[$0...].starts(with: ours) }) { body[place + 4] = owner }
        return NetlinkMessage(type: UInt16(RTM_NEWRULE), flags: 0, sequence: 0, payload: body[...])
    }
}

extension KernelRoute {
    fileprivate func isSamePlace(_ other: KernelRoute) -> Bool {
        route.destination == other.route.destination && route.table == other.route.table
            && route.metric == other.route.metric
    }

    /// Our writer's message with the owner put in its place.
    fileprivate var message: NetlinkMessage {
        var body = route.add.body
        body[5] = owner  // rtm_protocol
        return NetlinkMessage(type: UInt16(RTM_NEWROUTE), flags: 0, sequence: 0, payload: body[...])
    }
}

extension NetlinkRequest {
    /// The request as its receiver sees it.
    var message: NetlinkMessage { NetlinkMessage(type: type, flags: 0, sequence: 0, payload: body[...]) }
}
