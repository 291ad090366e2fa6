import ControlAPI
import Glibc
import HostNetwork
import LinuxSystem
import Synchronization

@testable import ControlDaemon

/// A network that records what is asked of it, and changes nothing on the machine.
final class FakeNetwork: TunnelNetwork {
    struct State {
        var calls: [String] = []
        /// Interfaces that are there.
        var devices: [String: UInt32] = [:]
        var settings: NetworkSettingsDocument?
        var policy = RoutingPolicy()
        /// What was put in force of other tunnels, by the interface of whose settings it was.
        var outside: [String: TunnelSurroundings] = [:]
        var isDown = false
        /// What others took away of the settings; back when they are applied.
        var missing: [String] = []
        /// How often that is taken away again at once.
        var meddling = 0
        /// What others renamed, by the name that it had.
        var newNames: [String: String] = [:]
        /// The call that fails.
        var failing: String?
        /// How many times what is applied fails in its last step, and stays half done.
        var halfDone = 0
        /// The way of the outer packets; nil: nobody can say.
        var path: OuterPath?
        /// Whether settings are being applied.
        var applying = false
        /// Whether what was applied is written down.
        var recorded = false
        var millisecondsToApply: Int64 = 30
        var millisecondsAfterRecord: Int64 = 0
    }

    let state = Mutex(State())
    /// Stands for the outer socket: readable while a packet waits at it.
    let packets: EventDescriptor
    /// Stands for the device.
    private let node: EventDescriptor

    init() throws {
        packets = try EventDescriptor()
        node = try EventDescriptor()
    }

    var calls: [String] { state.withLock { $0.calls } }
    var devices: [String: UInt32] { state.withLock { $0.devices } }

    func fail(_ call: String?) { state.withLock { $0.failing = call } }

    private func note(_ call: String) throws(ControlError) {
        let fails = state.withLock { state in
            state.calls.append(call)
            return state.failing == call.split(separator: " ").first.map(String.init)
        }
        if fails { throw ControlError(.networkSettingsFailed, "The fake network can't \(call).") }
    }

    func interfaceName(for configuration: Configuration) async throws(ControlError) -> String {
        try note("name")
        return InterfaceName.candidate(name: configuration.name, identifier: configuration.identifier)
    }

    func makeDevice(_ name: String, owner: UInt32) async throws(ControlError) -> InterfaceIdentity {
        try note("device")
        state.withLock { $0.devices[name] = owner }
        return InterfaceIdentity(index: 77, name: name)
    }

    func claim(_ interface: InterfaceIdentity) {}

    func checkDNS() async throws(ControlError) { try note("checkDNS") }

    func adoptDNS(
        _ settings: NetworkSettingsDocument,
        _ policy: RoutingPolicy,
        _ journal: NetworkJournal
    ) async { try? note("adoptDNS") }

    func state(of interface: InterfaceIdentity) async -> InterfaceState {
        state.withLock { state in
            if let name = state.newNames[interface.name] { return .renamed(to: name) }
            return state.devices[interface.name] == nil ? .gone : state.isDown ? .down : .up
        }
    }

    func release(_ tun: SharedDescriptor) throws(ControlError) { try note("release") }

    func openNode() throws(ControlError) -> SharedDescriptor {
        try note("node")
        return node.descriptor
    }

    func openSockets(port: Int) throws(ControlError) -> TunnelSockets {
        try note("sockets \(port)")
        return TunnelSockets(ipv4: packets.descriptor, ipv6: nil, port: port == 0 ? 50_000 : port, note: "No IPv6.")
    }

    func apply(
        _ settings: NetworkSettingsDocument,
        policy: RoutingPolicy,
        outside: TunnelSurroundings,
        to interface: InterfaceIdentity,
        port: Int?,
        restoring: Bool,
        journal: NetworkJournal,
        record: @escaping @Sendable (NetworkJournal) throws -> Void
    ) async throws(ControlError) -> (AppliedNetwork, NetworkJournal) {
        try note("\(restoring ? "restore" : "apply") \(settings.addresses.joined(separator: ",")) \(port ?? 0)")
        if state.withLock({ exchange(&$0.applying, with: true) }) { try note("overlap") }
        let (toApply, afterRecord) = state.withLock { ($0.millisecondsToApply, $0.millisecondsAfterRecord) }
        try? await Task.sleep(for: .milliseconds(toApply))
        state.withLock { $0.applying = false }
        do {
            try record(journal)
        } catch {
            throw ControlError(.networkSettingsFailed, "\(error)")
        }
        state.withLock { $0.recorded = true }
        if afterRecord > 0 { try? await Task.sleep(for: .milliseconds(afterRecord)) }
        state.withLock { state in
            state.settings = settings
            state.policy = policy
            state.outside[interface.name] = outside
            state.isDown = false
            if state.meddling > 0 { state.meddling -= 1 } else { state.missing = [] }
        }
        let isHalfDone = state.withLock { state in
            defer { state.halfDone = max(0, state.halfDone - 1) }
            return state.halfDone > 0
        }
        if isHalfDone { throw ControlError(.networkSettingsFailed, "The fake network leaves it half done.") }
        let applied = AppliedNetwork(
            addresses: settings.addresses,
            routes: settings.routes,
            mtu: settings.mtu ?? 1420,
            notes: []
        )
        return (applied, journal)
    }

    func takeBack(_ journal: NetworkJournal) async -> (removed: [String], failed: [String]) {
        do throws(ControlError) { try note("revert") } catch { return ([], [error.message]) }
        return state.withLock { state in
            guard let interface = journal.interface else { return ([], []) }
            state.devices[interface.name] = nil
            return (["interface \(interface.name)"], [])
        }
    }

    func removeDevice(named name: String) async -> [String] {
        try? note("remove")
        state.withLock { $0.devices[name] = nil }
        return []
    }

    func read(
        _ interface: InterfaceIdentity,
        _ applied: AppliedNetwork?,
        _ journal: NetworkJournal
    ) async -> InterfaceReading {
        var statistics = LinkStatistics()
        statistics.receivedBytes = 11
        return InterfaceReading(state: await state(of: interface), applied: applied, counters: statistics)
    }

    func repair(keeping kept: [NetworkJournal]) async -> (removed: [String], failed: [String]) {
        try? note("repair \(kept.compactMap(\.interface?.name).joined(separator: ","))")
        return ([], [])
    }

    func missing(of applied: AppliedNetwork, _ journal: NetworkJournal) async -> [String] {
        state.withLock { ($0.isDown ? ["the interface's being up"] : []) + $0.missing }
    }

    func path(to endpoints: [String], by passage: OuterPassage, from port: Int?) async -> OuterPath? {
        state.withLock { $0.path }
    }

    func resolve(_ name: String) async throws(ControlError) -> [String] {
        try note("resolve")
        return ["192.0.2.9"]
    }
}
