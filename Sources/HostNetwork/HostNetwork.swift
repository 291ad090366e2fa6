import EventLoop
import LinuxSystem
package import Netlink
package import NetworkTypes

/// The machine's network as tunneld changes it: one caller at a time, on a queue of its own.
///
/// Works in the network namespace of the thread that makes it.
package actor HostNetwork {
    private let executor = QueueExecutor(label: "org.tunneld.network")
    let applier: NetworkApplier
    /// For questions, which need not wait until ten thousand routes are put in force.
    let reader: KernelTables
    package nonisolated let ownInterfaces: OwnInterfaces

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// - Throws: when the process may not talk to rtnetlink.
    package init() throws(NetlinkError) {
        self.init(socket: try RouteSocket(), reader: try RouteSocket(), controls: ProcSystemControls())
    }

    package init(socket: any NetlinkSocket, reader: any NetlinkSocket, controls: any SystemControls) {
        let ownInterfaces = OwnInterfaces()
        self.ownInterfaces = ownInterfaces
        applier = NetworkApplier(socket: socket, controls: controls, ownInterfaces: ownInterfaces)
        self.reader = KernelTables(socket: reader)
    }

    /// Applies settings as a difference, all or nothing.
    ///
    /// - Parameters:
    ///   - restoring: puts back what others took away, as much of it as can be.
    ///   - record: writes the journal to disk; called before the first change and after the last.
    /// - Returns: what is in force, and the journal of it.
    package func apply(
        _ settings: TunnelNetworkSettings,
        restoring: Bool = false,
        journal: NetworkJournal,
        record: @Sendable (NetworkJournal) throws -> Void
    ) throws(NetworkSettingsError) -> (applied: AppliedNetworkSettings, journal: NetworkJournal) {
        var journal = journal
        ownInterfaces.insert(settings.interface.index)
        let applied = try applier.apply(settings, restoring: restoring, journal: &journal, record: record)
        return (applied, journal)
    }

    /// Takes back what a journal names; the journal that is returned still names what couldn't be removed.
    package func revert(
        _ journal: NetworkJournal,
        removingLink: Bool = true
    ) -> (report: NetworkRevertReport, journal: NetworkJournal) {
        var journal = journal
        if let interface = journal.interface { ownInterfaces.insert(interface.index) }
        let report = applier.revert(&journal, removingLink: removingLink)
        return (report, journal)
    }

    /// Counts an interface among the tunnels' own, as applying settings to it does.
    package nonisolated func claim(_ interface: InterfaceIdentity) { ownInterfaces.insert(interface.index) }

    package func deleteLink(index: UInt32) throws(NetlinkError) { try applier.tables.send(Link.delete(index: index)) }

    package func setMTU(_ mtu: Int, index: UInt32) throws(NetlinkError) {
        try applier.tables.send(Link.setMTU(mtu, index: index))
    }

    /// Limits the super-packets that the stack hands to the link.
    package func setOffloadLimit(bytes: UInt32, segments: UInt32, index: UInt32) throws(NetlinkError) {
        try applier.tables.send(Link.setOffloadLimit(bytes: bytes, segments: segments, index: index))
    }

    /// The link of that name; nil if there is none.
    package nonisolated func link(named name: String) async throws(NetlinkError) -> Link? {
        try reader.link(named: name)
    }

    /// The link of that index; nil if there is none.
    package nonisolated func link(index: UInt32) async throws(NetlinkError) -> Link? {
        try reader.link(index: index)
    }

    /// What stands against an interface name; nil if a new tunnel may have it.
    package nonisolated func problem(
        withName name: String
    ) async throws(NetlinkError) -> InterfaceNameCheck.Problem? {
        try InterfaceNameCheck.problem(with: name, reader)
    }

    /// The way that an outer packet to the address takes; nil where no route leads there.
    package nonisolated func lookUpRoute(
        to address: IPAddress,
        zone: UInt32 = 0
    ) async throws(NetlinkError) -> RouteLookup? {
        try reader.lookUp(address, zone: zone)
    }

    /// The MTU of the path to an endpoint; nil where no route leads there.
    package nonisolated func pathMTU(to endpoint: Endpoint) async throws(NetlinkError) -> TunnelMTU.Path? {
        try reader.pathMTU(to: endpoint)
    }
}
