import EventLoop
import LinuxSystem
import NetworkTypes
package import SystemBus

/// The name servers of all tunnels: told to whatever programs ask on this machine, kept so against others, taken back.
///
/// What that is, is found out by asking, in this order: systemd-resolved over the bus, a resolvconf, /etc/resolv.conf.
/// A bus that hangs holds up nobody but those who ask here.
package actor DNSControl {
    struct Tunnel: Sendable {
        var interface: InterfaceIdentity
        var link: LinkDNS
        var record: DNSRecord
        /// Whether others keep undoing it.
        var limiter = PushLimiter()
        var isRepairDue = false
    }

    private nonisolated let executor = QueueExecutor(label: "org.tunneld.dns")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    var queue: QueueExecutor { executor }

    nonisolated let bus: SystemBus
    nonisolated let file: ResolvConfFile
    nonisolated let programs: String
    nonisolated let ownInterfaces: OwnInterfaces
    nonisolated let notice: @Sendable (String) -> Void
    /// The one that was started last is the first.
    var tunnels: [Tunnel] = []
    var watches = DNSWatches()
    /// The last of what is done one after the other.
    private var last: Task<Void, Never>?

    /// How long a bus may take to say whether systemd-resolved is there.
    static let probePatience = Interval.seconds(2)

    /// - Parameters:
    ///   - resolvConf: instead of /etc/resolv.conf.
    ///   - programs: where to look for resolvconf: folders with colons between; nil for where programs are kept.
    ///   - ownInterfaces: those of the tunnels, whose servers are no way to their gateways.
    ///   - notice: gets what an operator should know, in one sentence.
    package init(
        bus: SystemBus,
        resolvConf: String = StaleNameServers.path,
        programs: String? = nil,
        ownInterfaces: OwnInterfaces = OwnInterfaces(),
        notice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.bus = bus
        file = ResolvConfFile(path: resolvConf)
        self.programs = programs ?? ResolvconfProgram.standardPath
        self.ownInterfaces = ownInterfaces
        self.notice = notice
    }

    /// Finds out how servers can be put in force here; changes nothing.
    ///
    /// - Parameter present: how a tunnel's are already, which isn't changed while it runs.
    /// - Throws: what was tried, and what to do.
    package func choose(present: DNSRecord? = nil) async throws(DNSError) -> DNSBackend {
        if let present { return present.backend }
        let answer = await bus.calls(within: Self.probePatience) { calls throws(BusError) in try Resolved.ping(calls) }
        let problem: String
        switch answer {
        case .failure(let error): problem = error.description
        case .success:
            if await BusPeer.isHere(Resolved.name, bus, within: Self.probePatience) { return .resolved }
            problem = "it serves another network namespace"
        }
        if ResolvconfProgram.find(in: programs) != nil { return .resolvconf }
        guard let obstacle = file.obstacle() else { return .file }
        throw DNSError(
            "The tunnel's name servers can't be put in force.",
            why: "systemd-resolved: \(problem). resolvconf: there is no such program. \(obstacle).",
            remedy:
                "Start systemd-resolved, install resolvconf, or let tunneld write \(file.path). To go on without the "
                + "tunnel's name servers where there is no way: `dns = optional` in tunneld.conf."
        )
    }

    /// Puts a tunnel's servers in force, in place of what was for it before.
    ///
    /// Where they are in force already and can't be told anew, because systemd-resolved is away, they are told once it is back.
    ///
    /// - Parameters:
    ///   - present: what its journal has; it is taken back where it is of another interface.
    ///   - write: puts what is about to be done into the journal.
    /// - Returns: what its journal has now.
    package func apply(
        _ link: LinkDNS,
        to interface: InterfaceIdentity,
        _ backend: DNSBackend,
        present: DNSRecord?,
        write: @escaping @Sendable (DNSRecord) throws(DNSError) -> Void
    ) async throws(DNSError) -> DNSRecord {
        let result: Result<DNSRecord, DNSError> = await inTurn { control in
            if let present, present.interface != interface { _ = await control.takeBack(present) }
            return await control.putInForce(link, interface, backend, isPresent: present != nil, write)
        }
        return try result.get()
    }

    /// Takes a tunnel's servers back; what isn't there any more is passed over.
    ///
    /// - Returns: what could not be taken back, in words.
    package func remove(_ record: DNSRecord) async -> [String] { await inTurn { await $0.takeBack(record) } }

    /// Knows servers that an earlier tunneld put in force.
    package func adopt(_ link: LinkDNS, _ record: DNSRecord) {
        guard !tunnels.contains(where: { $0.interface == record.interface }) else { return }
        tunnels.append(Tunnel(interface: record.interface, link: link, record: record))
        watch()
        lookSoon()
    }

    /// Puts back what stood at /etc/resolv.conf where the tunnels that it speaks for are gone for good, as after a new start
    /// of the machine.
    ///
    /// - Parameter kept: the interfaces of those that are gone on with, or taken back by their journals.
    package nonisolated func takeBackStale(
        keeping kept: Set<InterfaceIdentity>
    ) -> (removed: String?, failed: String?) {
        StaleNameServers.takeBack(from: file.path, keeping: kept)
    }

    /// The network changed: what waits is tried at once.
    package func networkChanged() {
        guard !tunnels.isEmpty else { return }
        watches.bus?.retry()
        lookSoon()
    }

    // MARK: One after the other

    /// Does something after all that was begun before has ended.
    func inTurn<Value: Sendable>(
        _ body: @escaping @Sendable (isolated DNSControl) async -> Value
    ) async -> Value {
        let before = last
        let task = Task {
            await before?.value
            return await body(self)
        }
        last = Task { _ = await task.value }
        return await task.value
    }
}
