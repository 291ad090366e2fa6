import CShims
import Glibc
import Netlink
import NetworkTypes

/// What of the machine's network has changed.
package struct NetworkEvents: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A link went up or down, got or lost its carrier, or another MTU.
    package static let links = NetworkEvents(rawValue: 1)
    /// An address came, became usable or went.
    package static let addresses = NetworkEvents(rawValue: 2)
    package static let routes = NetworkEvents(rawValue: 4)
    /// Something happened to an interface of a tunnel: it went, or is up or down now, or has another name.
    package static let ownLinks = NetworkEvents(rawValue: 8)
    /// A rule, a route or an address of a tunnel's was taken away, by whomever: by us too.
    package static let ownSettings = NetworkEvents(rawValue: 16)
    /// A Wi-Fi network was joined or left.
    package static let wireless = NetworkEvents(rawValue: 32)

    /// What concerns the tunnels themselves, and can't wait.
    package static let own: NetworkEvents = [.ownLinks, .ownSettings]
}

/// Tells changes of the network around the tunnels from the tunnels' own and from the kernel's repetitions.
///
/// Router advertisements, for one, make the kernel announce the same addresses over and over.
struct NetworkEventFilter: Sendable {
    private struct LinkState: Hashable {
        let flags: UInt32
        let mtu: Int

        var isUp: Bool { flags & UInt32(IFF_UP) != 0 }
    }
    private struct AddressState: Hashable {
        let address: InterfaceAddress
        let isTentative: Bool
    }

    private var links: [UInt32: LinkState] = [:]
    private var addresses: Set<AddressState> = []
    private let ownInterfaces: OwnInterfaces

    init(_ ownInterfaces: OwnInterfaces) { self.ownInterfaces = ownInterfaces }

    /// Takes the state that changes are compared with, in place of what was known.
    mutating func reset(to messages: [NetlinkMessage]) {
        links = [:]
        addresses = []
        for message in messages { _ = events(in: message) }
    }

    /// What a message of the kernel means; nothing for one that can't be read.
    mutating func events(in message: NetlinkMessage) -> NetworkEvents {
        (try? read(message)) ?? []
    }

    private mutating func read(_ message: NetlinkMessage) throws(NetlinkError) -> NetworkEvents {
        switch Int(message.type) {
        case Int(RTM_NEWLINK), Int(RTM_DELLINK):
            let link = try Link(message)
            let isOwn = ownInterfaces.contains(link.index)
            let events = changed(link, isGone: Int(message.type) == Int(RTM_DELLINK))
            return isOwn ? events.union(.ownLinks) : events
        case Int(RTM_NEWADDR), Int(RTM_DELADDR):
            guard let address = try InterfaceAddress(message) else { return [] }
            let (header, attributes) = try message.read(ifaddrmsg.self)
            let flags = attributes.number(IFA_FLAGS, as: UInt32.self) ?? UInt32(header.ifa_flags)
            let state = AddressState(address: address, isTentative: flags & UInt32(IFA_F_TENTATIVE) != 0)
            let isGone = Int(message.type) == Int(RTM_DELADDR)
            let events = changed(state, isGone: isGone)
            return isGone && ownInterfaces.contains(address.interface) ? events.union(.ownSettings) : events
        case Int(RTM_NEWROUTE), Int(RTM_DELROUTE):
            guard let found = try KernelRoute(message), !found.isCloned,
                found.route.table != UInt32(RT_TABLE_LOCAL.rawValue)
            else { return [] }
            let isOwn = found.isOurs || found.route.interface.map(ownInterfaces.contains) ?? false
            // One of ours may have been replaced by another's, of which nothing is told but that it is new.
            guard Int(message.type) == Int(RTM_DELROUTE) || Int32(message.flags) & NLM_F_REPLACE != 0 else {
                return isOwn ? [] : .routes
            }
            return isOwn ? .ownSettings : Int(message.type) == Int(RTM_DELROUTE) ? .routes : [.routes, .ownSettings]
        case Int(RTM_NEWRULE), Int(RTM_DELRULE):
            // The rules of others lead elsewhere, as their routes do.
            guard try KernelRule(message).isOurs else { return .routes }
            return Int(message.type) == Int(RTM_DELRULE) ? .ownSettings : []
        default:
            return []
        }
    }

    private mutating func changed(_ link: Link, isGone: Bool) -> NetworkEvents {
        let relevant = UInt32(IFF_UP | IFF_RUNNING)
        let before = links[link.index]
        let now = isGone ? nil : LinkState(flags: link.flags & relevant, mtu: link.mtu)
        links[link.index] = now
        if isGone {
            addresses = addresses.filter { $0.address.interface != link.index }
            // A number that is used again belongs to another link.
            if ownInterfaces.remove(link.index) { return [] }
        }
        // A link that isn't up carries nothing, so that a tunnel's link isn't noticed before it is told to be one.
        guard !link.isLoopback, !ownInterfaces.contains(link.index), before != now,
            before?.isUp ?? false || now?.isUp ?? false
        else { return [] }
        return .links
    }

    private mutating func changed(_ state: AddressState, isGone: Bool) -> NetworkEvents {
        let other = AddressState(address: state.address, isTentative: !state.isTentative)
        addresses.remove(other)
        let isNews = isGone ? addresses.remove(state) != nil : addresses.insert(state).inserted
        guard isNews, !ownInterfaces.contains(state.address.interface), isGone || !state.isTentative else { return [] }
        return .addresses
    }
}
