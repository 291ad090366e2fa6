import CShims
import Glibc
package import Netlink
import NetworkTypes

/// Reads what `NetworkSnapshot` holds, each part from whoever knows it.
///
/// A part that nobody tells is left empty. Works in the network namespace of the thread that makes it.
package struct SnapshotReader: Sendable {
    let socket: any NetlinkSocket
    let ownInterfaces: OwnInterfaces
    private let nameServers: NameServerReader
    private let metered: MeteredReader
    private let wireless: WirelessNames?
    private let folder = LinkFolder()

    /// - Throws: when the process may not talk to rtnetlink.
    package init(
        socket: (any NetlinkSocket)? = nil,
        ownInterfaces: OwnInterfaces,
        nameServers: NameServerReader,
        metered: MeteredReader
    ) throws(NetlinkError) {
        if let socket { self.socket = socket } else { self.socket = try RouteSocket() }
        self.ownInterfaces = ownInterfaces
        self.nameServers = nameServers
        self.metered = metered
        // A kernel without generic netlink has no Wi-Fi either.
        wireless = try? WirelessNames()
    }

    package func read() async throws(NetlinkError) -> NetworkSnapshot {
        var snapshot = try kernelPart()
        let linkServers = await nameServers.links()
        let exits = Set(snapshot.defaultRoutes.compactMap { snapshot.link($0.interface)?.name })
        let known = await metered.metered(exits)
        for index in snapshot.links.indices {
            let link = snapshot.links[index]
            if let servers = linkServers[link.index] { snapshot.links[index].nameServers = servers }
            snapshot.links[index].isMetered = known[link.name]
        }
        snapshot.nameServers = nameServers.machine()
        return snapshot
    }

    /// Links, addresses, default routes and Wi-Fi names.
    func kernelPart() throws(NetlinkError) -> NetworkSnapshot {
        let links = try KernelTables(socket: socket).links()
        let addresses = try usableAddresses()
        let names = (try? wireless?.read()) ?? [:]
        let all = links.sorted { $0.index < $1.index }.map { link in
            var facts = LinkKind.Facts(
                isLoopback: link.isLoopback,
                isOwnTunnel: ownInterfaces.contains(link.index),
                hardwareType: link.hardwareType,
                driver: link.kind
            )
            if !facts.isLoopback, !facts.isOwnTunnel { folder.fill(&facts, of: link.name) }
            var known = NetworkLink(
                index: link.index,
                name: link.name,
                kind: LinkKind(facts),
                driver: link.kind,
                isUp: link.isUp,
                hasCarrier: link.isRunning,
                mtu: link.mtu,
                hardwareAddress: link.hardwareAddress,
                addresses: addresses[link.index] ?? []
            )
            known.wirelessName = names[link.index]
            return known
        }
        return NetworkSnapshot(links: all, defaultRoutes: try DefaultRoute.all(socket))
    }

    /// The addresses that packets can be sent from, by link.
    private func usableAddresses() throws(NetlinkError) -> [UInt32: [IPPrefix]] {
        var found: [UInt32: [IPPrefix]] = [:]
        for message in try socket.dump(InterfaceAddress.dump(interface: 0)) {
            guard let address = try InterfaceAddress(message) else { continue }
            let (header, attributes) = try message.read(ifaddrmsg.self)
            let flags = attributes.number(IFA_FLAGS, as: UInt32.self) ?? UInt32(header.ifa_flags)
            guard flags & UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED) == 0 else { continue }
            found[address.interface, default: []].append(address.prefix)
        }
        return found
    }
}
