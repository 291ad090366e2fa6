import Netlink

/// What is to be known of the tunnel that another one is nested in.
extension NetworkApplier {
    /// The first rule priority of the tunnel that another is nested in, ahead of which that one's must be; nil for none.
    func firstPriority(
        of passage: OuterPassage,
        _ state: NetworkState
    ) throws(NetworkSettingsError) -> UInt32? {
        guard let outer = passage.interface else { return nil }
        do throws(NetlinkError) {
            var own: Set<UInt32> = []
            for isIPv6 in [false, true] {
                let filter = KernelRoute.Filter(isIPv6: isIPv6, owner: Ownership.routingProtocol, interface: outer)
                own.formUnion(try tables.routes(filter).map(\.route.table).filter(Ownership.tables.contains))
            }
            let priorities = state.allRules.filter { $0.isOurs && own.contains($0.table) }.map(\.priority)
            return priorities.filter(Ownership.priorities.contains).min()
        } catch {
            throw NetworkSettingsError("Cannot look up the rules of the tunnel around this one.", error)
        }
    }

    /// Whether a link carries IPv6: below 1280 the kernel takes it away, and with it the link's own setting.
    func hasIPv6(_ link: InterfaceIdentity) throws(NetworkSettingsError) -> Bool {
        do throws(NetlinkError) {
            guard let mtu = try tables.link(index: link.index)?.mtu, mtu >= TunnelMTU.minimumForIPv6 else {
                return false
            }
            return controls.ipv6State(of: link.name) == .usable
        } catch {
            throw NetworkSettingsError("Cannot look at the tunnel around this one.", error)
        }
    }
}
