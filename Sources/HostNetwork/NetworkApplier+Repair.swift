import CShims
import Glibc
package import Netlink
import NetworkTypes

extension NetworkApplier {
    /// Takes back everything on this machine that carries our marks and that nobody who runs needs.
    ///
    /// That is: rules and routes of our protocol number and labels of our number, whoever made them, and TUN devices of a
    /// provider's user.
    /// - Parameters:
    ///   - kept: what the running tunnels have in force.
    ///   - endingOthers: whether TUN devices go too that a process is attached to, and what belongs to them: another
    ///     tunneld's, for all that is known.
    package func repair(keeping kept: [NetworkJournal], endingOthers: Bool = false) -> NetworkRevertReport {
        var report = NetworkRevertReport()
        do throws(NetlinkError) {
            let rules = Set(kept.flatMap(\.rules))
            let interfaces = Set(kept.compactMap(\.interface?.name))
            let loose = try tunnelLinks().filter { !interfaces.contains($0.name) }
            let others = endingOthers ? OthersTunnels() : try OthersTunnels(loose.filter(\.isRunning), tables)
            for isIPv6 in [false, true] {
                let left = try tables.rules(isIPv6: isIPv6).filter { found in
                    found.isOurs && !(found.rule.map(rules.contains) ?? false) && !others.own(found)
                }
                let any: IPPrefix = isIPv6 ? .allIPv6 : .allIPv4
                // One in words that we don't use any more goes by its priority, table and protocol.
                _ = takeBack(left.reversed(), &report) { found in
                    let rule = found.rule ?? RoutingRule(to: any, priority: found.priority, table: found.table)
                    return (rule.delete, rule.words)
                }
            }
            let routes = Set(kept.flatMap(\.routes))
            for isIPv6 in [false, true] {
                let left = try tables.routes(.init(isIPv6: isIPv6, owner: Ownership.routingProtocol))
                    .map(\.route).filter { !routes.contains($0) && !others.own($0) }
                _ = takeBack(left, &report) { ($0.delete, $0.words) }
            }
            let labels = Set(kept.flatMap(\.labels))
            let unneeded = (tables.addressLabels() ?? []).filter { !labels.contains($0) && !others.own($0) }
            _ = takeBack(unneeded.sorted { $0.address < $1.address }, &report) { ($0.delete, "label of \($0.address)") }
            let links = loose.filter { endingOthers || !$0.isRunning }
            _ = takeBack(links, &report) { (Link.delete(index: $0.index), "interface \($0.name)") }
        } catch {
            report.failed.append("what there is can't be read: \(error)")
        }
        return report
    }

    /// The TUN devices that were made for a provider, whatever has become of it.
    package func tunnelLinks() throws(NetlinkError) -> [Link] {
        try tables.links().filter { $0.tunOwner.map(Ownership.providerUsers.contains) ?? false }
    }
}

extension RoutingRule {
    /// What it is, for whoever reads that it was taken back.
    var words: String {
        var parts = [destination.address.isIPv6 ? "IPv6" : "IPv4"]
        if let source = source?.wrappedValue { parts.append("from \(source)") }
        if destination.length > 0 { parts.append("to \(destination)") }
        if let inputInterface { parts.append("by \(inputInterface)") }
        return "rule \(priority) (\(parts.joined(separator: ", ")))"
    }
}

extension Route {
    /// What it is, for whoever reads that it was taken back.
    var words: String { "route \(destination) in table \(table)" }
}

/// What belongs to tunnels of another tunneld's on this machine.
private struct OthersTunnels {
    private var interfaces: Set<UInt32> = []
    private var routingTables: Set<UInt32> = []
    /// The blocks of priorities that their rules are in.
    private var blocks: Set<UInt32> = []

    /// None.
    init() {}

    /// - Parameter links: their interfaces.
    init(_ links: [Link], _ tables: KernelTables) throws(NetlinkError) {
        guard !links.isEmpty else { return }
        interfaces = Set(links.map(\.index))
        for isIPv6 in [false, true] {
            for found in try tables.routes(.init(isIPv6: isIPv6, owner: Ownership.routingProtocol)) {
                guard found.route.interface.map(interfaces.contains) ?? false else { continue }
                if let table = Ownership.ownTable(besides: found.route.table) { routingTables.insert(table) }
            }
        }
        for isIPv6 in [false, true] {
            for found in try tables.rules(isIPv6: isIPv6) where found.isOurs && ownTable(found.table) {
                if let block = Ownership.block(ofPriority: found.priority) { blocks.insert(block) }
            }
        }
    }

    private func ownTable(_ table: UInt32) -> Bool {
        Ownership.ownTable(besides: table).map(routingTables.contains) ?? false
    }

    func own(_ rule: KernelRule) -> Bool {
        ownTable(rule.table) || Ownership.block(ofPriority: rule.priority).map(blocks.contains) ?? false
            || rule.priority == Ownership.confinementPriority && mayOwnConfinements
    }

    func own(_ route: Route) -> Bool {
        ownTable(route.table) || route.interface.map(interfaces.contains) ?? false
            || Ownership.passageTables.contains(route.table) && mayOwnConfinements
    }

    /// Nothing tells whose it is that keeps outer packets in while they have no way: no interface is named there.
    private var mayOwnConfinements: Bool { !interfaces.isEmpty }

    func own(_ label: AddressLabel) -> Bool { interfaces.contains(label.interface) }
}
