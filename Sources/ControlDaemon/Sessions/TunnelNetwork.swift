package import ControlAPI
package import HostNetwork
package import LinuxSystem

/// What a session needs of the machine's network.
package protocol TunnelNetwork: Sendable {
    /// A name that no interface has, on the whole machine.
    func interfaceName(for configuration: Configuration) async throws(ControlError) -> String
    /// Makes a TUN device that only this user may attach to; persistent until `release`.
    func makeDevice(_ name: String, owner: UInt32) async throws(ControlError) -> InterfaceIdentity
    /// Has changes of an interface noticed that an earlier tunneld made.
    func claim(_ interface: InterfaceIdentity)
    /// Finds out whether name servers can be put in force, and changes nothing.
    func checkDNS() async throws(ControlError)
    /// Keeps name servers in force that an earlier tunneld put there.
    func adoptDNS(_ settings: NetworkSettingsDocument, _ policy: RoutingPolicy, _ journal: NetworkJournal) async
    /// What has become of the interface.
    func state(of interface: InterfaceIdentity) async -> InterfaceState
    /// Lets the device go with the last of its descriptors.
    func release(_ tun: SharedDescriptor) throws(ControlError)
    /// An opened, unattached `/dev/net/tun`.
    func openNode() throws(ControlError) -> SharedDescriptor
    func openSockets(port: Int) throws(ControlError) -> TunnelSockets
    /// Puts the settings in force, as a difference, all or nothing.
    ///
    /// - Parameter restoring: they are in force, and what others took away is put back, as much of it as can be.
    func apply(
        _ settings: NetworkSettingsDocument,
        policy: RoutingPolicy,
        outside: TunnelSurroundings,
        to interface: InterfaceIdentity,
        port: Int?,
        restoring: Bool,
        journal: NetworkJournal,
        record: @escaping @Sendable (NetworkJournal) throws -> Void
    ) async throws(ControlError) -> (AppliedNetwork, NetworkJournal)
    /// Takes back what the journal names, the interface too.
    ///
    /// - Returns: what was removed, and what couldn't be, in words.
    func takeBack(_ journal: NetworkJournal) async -> (removed: [String], failed: [String])
    /// Removes a device whose number was never learnt.
    ///
    /// - Returns: what could not be removed, in words.
    func removeDevice(named name: String) async -> [String]
    /// What there is of the interface now.
    ///
    /// - Parameters:
    ///   - applied: what was put in force; nil: nobody wants to know what is still there of it.
    ///   - journal: what was put in force for `applied`.
    func read(_ interface: InterfaceIdentity, _ applied: AppliedNetwork?, _ journal: NetworkJournal) async
        -> InterfaceReading
    /// What of the settings in force others took away, an item each; nothing where the kernel can't be asked.
    func missing(of applied: AppliedNetwork, _ journal: NetworkJournal) async -> [String]
    /// The ways that outer packets take to endpoints ("192.0.2.1:51820"); nil where the kernel can't be asked.
    ///
    /// - Parameters:
    ///   - passage: where they are to go.
    ///   - port: the one that they come from.
    func path(to endpoints: [String], by passage: OuterPassage, from port: Int?) async -> OuterPath?
    /// Takes back everything of tunneld's on this machine but for these.
    ///
    /// - Returns: what was removed, and what couldn't be, in words.
    func repair(keeping kept: [NetworkJournal]) async -> (removed: [String], failed: [String])
    /// Looks a name up outside of all tunnels.
    func resolve(_ name: String) async throws(ControlError) -> [String]
}

/// What has become of a tunnel's interface.
package enum InterfaceState: Equatable, Sendable {
    case up
    case down
    /// It is there, under this name.
    case renamed(to: String)
    /// Deleted, or moved to another network namespace.
    case gone
}

/// A tunnel's interface, as one look at the kernel shows it.
package struct InterfaceReading: Sendable {
    package var state: InterfaceState
    /// Its name now; nil where the interface is gone, or can't be asked for.
    package var name: String?
    /// What of the settings in force is still there; all of them where the kernel can't be asked.
    package var applied: AppliedNetwork?
    /// Prefixes that ought to lead into the tunnel, and don't.
    package var lostRoutes: [String]
    /// Prefixes that another tunnel carries, with the name of its interface.
    package var yields: [(prefix: String, interface: String)] = []
    /// Nil where the interface is gone, or can't be asked for.
    package var counters: LinkStatistics?
    /// How the name servers fare; nil where there are none in force, or nobody asked.
    package var dns: AppliedDNS?

    package init(
        state: InterfaceState,
        name: String? = nil,
        applied: AppliedNetwork?,
        lostRoutes: [String] = [],
        counters: LinkStatistics? = nil
    ) {
        self.state = state
        self.name = name
        self.applied = applied
        self.lostRoutes = lostRoutes
        self.counters = counters
    }
}

/// The outer UDP sockets of a tunnel.
package struct TunnelSockets: Sendable {
    package let ipv4: SharedDescriptor
    package let ipv6: SharedDescriptor?
    package let port: Int
    package let note: String?

    package init(ipv4: SharedDescriptor, ipv6: SharedDescriptor?, port: Int, note: String?) {
        self.ipv4 = ipv4
        self.ipv6 = ipv6
        self.port = port
        self.note = note
    }

    /// By the labels that they travel with.
    var labelled: [String: SharedDescriptor] {
        var all = [DescriptorLabel.udp4: ipv4]
        all[DescriptorLabel.udp6] = ipv6
        return all
    }
}

/// What of the network settings is in force, as clients see it.
package struct AppliedNetwork: Codable, Equatable, Sendable {
    package var addresses: [String]
    package var routes: [String]
    package var mtu: Int
    package var notes: [String]
    /// Nil where there are no name servers.
    package var dns: AppliedDNS?

    package init(addresses: [String], routes: [String], mtu: Int, notes: [String]) {
        self.addresses = addresses
        self.routes = routes
        self.mtu = mtu
        self.notes = notes
    }
}

/// What became of a tunnel's name servers.
package struct AppliedDNS: Codable, Equatable, Sendable {
    /// What was told of them; nil where there was nobody to tell.
    package var backend: String?
    package var isEffective: Bool
    /// What a person should know, in sentences.
    package var note: String?

    package init(backend: String?, isEffective: Bool, note: String?) {
        self.backend = backend
        self.isEffective = isEffective
        self.note = note
    }
}
