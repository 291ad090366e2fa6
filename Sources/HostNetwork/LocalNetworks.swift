package import NetworkTypes

/// The networks that the machine is attached to, as far as they count as local.
///
/// What counts is what lies as a whole in a range that nobody on the Internet has: private (RFC 1918), unique local
/// (RFC 4193) or link-local (RFC 3927; RFC 4291, section 2.5.6). A network that hands out public addresses, or all of
/// them, to its hosts doesn't thereby pull that traffic out of a tunnel.
package struct LocalNetworks: Hashable, Sendable {
    /// A link with its local networks.
    package struct Attached: Hashable, Sendable {
        package let link: InterfaceIdentity
        /// In ascending order, without those that lie in another of them.
        package let prefixes: [IPPrefix]

        package init(link: InterfaceIdentity, prefixes: [IPPrefix]) {
            self.link = link
            self.prefixes = prefixes
        }
    }

    /// Those with at least one local network, by their numbers.
    package let links: [Attached]

    /// All local networks, in ascending order, without those that lie in another of them.
    package var prefixes: [IPPrefix] { Self.merged(links.flatMap(\.prefixes)) }

    package static let none = LocalNetworks(links: [])

    package init(links: [Attached]) { self.links = links }

    /// Those of the networks that count as local.
    ///
    /// - Parameter attached: what each link is attached to.
    package init(of attached: [Attached]) {
        links = attached.compactMap { place in
            let prefixes = place.prefixes.filter(Self.isLocal)
            return prefixes.isEmpty ? nil : Attached(link: place.link, prefixes: prefixes)
        }
    }

    /// What is sent to everybody on a link: limited broadcast, and multicast whose scope ends at the site (RFC 2365 and
    /// 5771 for IPv4; RFC 4291, section 2.7, scopes 2 to 5, for well-known, transient and prefix-based groups).
    package static let groups: [IPPrefix] = [
        "224.0.0.0/24", "239.0.0.0/8", "255.255.255.255/32", "ff02::/15", "ff04::/15", "ff12::/15", "ff14::/15",
        "ff32::/15", "ff34::/15",
    ].compactMap { IPPrefix($0) }

    /// The ranges that a local network must lie in.
    package static let ranges: [IPPrefix] = [
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10",
    ].compactMap { IPPrefix($0) }

    /// Whether all of a network lies in a range that counts as local.
    package static func isLocal(_ prefix: IPPrefix) -> Bool {
        ranges.contains { $0.length <= prefix.length && $0.contains(prefix.address) }
    }

    /// Works out what the machine is attached to, whether or not it counts as local.
    ///
    /// - Parameters:
    ///   - links: all; those that are down, the loopback and the tunnels don't count.
    ///   - addresses: of all links. An address stands for its network, unless it is the only one in it.
    ///   - routes: of the main table. Those to a link's own network count: made by the kernel, or for a router
    ///     advertisement that says "on the link" (RFC 4861). One that a DHCP server gave is no network of the link's.
    ///   - isTunnel: whether a link, by its number, is one of our tunnels.
    package static func attached(
        links: [Link],
        addresses: [InterfaceAddress],
        routes: [KernelRoute],
        isTunnel: (UInt32) -> Bool
    ) -> [Attached] {
        var found: [UInt32: [IPPrefix]] = [:]
        for address in addresses where address.prefix.length < address.prefix.address.bitCount {
            found[address.interface, default: []].append(address.prefix.network)
        }
        for route in routes where route.isOnLink {
            if let interface = route.route.interface { found[interface, default: []].append(route.route.destination) }
        }
        return links.filter { $0.isUp && !$0.isLoopback && !isTunnel($0.index) }
            .sorted { $0.index < $1.index }
            .compactMap { link in
                let prefixes = merged(found[link.index] ?? [])
                guard !prefixes.isEmpty else { return nil }
                return Attached(link: InterfaceIdentity(index: link.index, name: link.name), prefixes: prefixes)
            }
    }

    /// In ascending order, without doubles and without what lies in another one.
    static func merged(_ prefixes: [IPPrefix]) -> [IPPrefix] {
        var merged: [IPPrefix] = []
        for prefix in Set(prefixes).sorted() {
            // A network stands before all that lie in it.
            if let last = merged.last, last.length <= prefix.length, last.contains(prefix.address) { continue }
            merged.append(prefix)
        }
        return merged
    }
}
