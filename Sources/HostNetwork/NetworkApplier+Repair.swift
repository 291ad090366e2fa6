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
    ///   - endingOthers: whether TUN devices go too that a process is attached to.
    package func repair(keeping kept: [NetworkJournal], endingOthers: Bool = false) -> NetworkRevertReport {
        var report = NetworkRevertReport()
        do throws(NetlinkError) {
            let rules = Set(kept.flatMap(\.rules))
            for isIPv6 in [false, true] {
                let left = try tables.rules(isIPv6: isIPv6).filter { found in
                    found.isOurs && !(found.rule.map(rules.contains) ?? false)
                }
                let any: IPPrefix = isIPv6 ? .allIPv6 : .allIPv4
                // One in words that we don't use any more goes by its priority, table and protocol.
                _ = takeBack(left.reversed(), &report) { found in
                    let rule = found.rule ?? RoutingRule(to: any, priority: found.priority, table: found.table)
                    return (rule.delete, "rule \(found.priority) (\(isIPv6 ? "IPv6" : "IPv4"))")
                }
            }
            let routes = Set(kept.flatMap(\.routes))
            for isIPv6 in [false, true] {
                let left = try tables.routes(.init(isIPv6: isIPv6, owner: Ownership.routingProtocol))
                    .map(\.route).filter { !routes.contains($0) }
                _ = takeBack(left, &report) { ($0.delete, "route \($0.destination) in table \($0.table)") }
            }
            let labels = Set(kept.flatMap(\.labels))
            let loose = (tables.addressLabels() ?? []).filter { !labels.contains($0) }
            _ = takeBack(loose.sorted { $0.address < $1.address }, &report) { ($0.delete, "label of \($0.address)") }
            let interfaces = Set(kept.compactMap(\.interface?.name))
            let links = try tunnelLinks().filter { !interfaces.contains($0.name) && (endingOthers || !$0.isRunning) }
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
