package import ControlAPI
package import HostNetwork
package import LinuxSystem
import NetworkTypes

/// The machine's own network.
package struct HostTunnelNetwork: TunnelNetwork {
    private let host: HostNetwork
    let dns: DNSControl
    /// Whether a tunnel goes on without its name servers.
    let dnsIsOptional: Bool
    private let resolver: Resolver
    /// More names than anybody could have taken by chance.
    private static let nameAttempts: UInt32 = 64

    package init(host: HostNetwork, dns: DNSControl, dnsIsOptional: Bool = false) {
        self.host = host
        self.dns = dns
        self.dnsIsOptional = dnsIsOptional
        resolver = Resolver { (name) throws(DNSError) in try await dns.underlay(for: name) }
    }

    package func interfaceName(for configuration: Configuration) async throws(ControlError) -> String {
        for attempt in 0..<Self.nameAttempts {
            let name = InterfaceName.candidate(
                name: configuration.name,
                identifier: configuration.identifier,
                attempt: attempt
            )
            do {
                if try await host.problem(withName: name) == nil { return name }
            } catch {
                throw Self.failed("Can't look for a name for the tunnel's interface.", "\(error)")
            }
        }
        throw Self.failed("Can't find a name for the tunnel's interface.", "All that were tried are taken.")
    }

    package func makeDevice(_ name: String, owner: UInt32) async throws(ControlError) -> InterfaceIdentity {
        do throws(SystemError) {
            try TunCreation.create(name: name, owner: owner)
        } catch {
            throw Self.tunError(error)
        }
        guard let link = try? await host.link(named: name) else {
            throw Self.failed("Can't make the tunnel's interface \(name).", "It was gone as soon as it was made.")
        }
        return InterfaceIdentity(index: link.index, name: link.name)
    }

    package func claim(_ interface: InterfaceIdentity) { host.claim(interface) }

    package func state(of interface: InterfaceIdentity) async -> InterfaceState {
        do {
            guard let link = try await link(of: interface) else { return .gone }
            guard link.name == interface.name else { return .renamed(to: link.name) }
            return link.isUp ? .up : .down
        } catch {
            // What can't be asked for is no sign of anything; the next event asks again.
            return .up
        }
    }

    /// The interface, under whatever name; nil where the number belongs to another kind of link, or to none.
    private func link(of interface: InterfaceIdentity) async throws -> Link? {
        guard let link = try await host.link(index: interface.index) else { return nil }
        return link.name == interface.name || link.kind == "tun" ? link : nil
    }

    package func release(_ tun: SharedDescriptor) throws(ControlError) {
        do throws(SystemError) {
            try TunCreation.setPersistent(false, on: tun.duplicate())
        } catch {
            throw Self.tunError(error)
        }
    }

    package func openNode() throws(ControlError) -> SharedDescriptor {
        do throws(SystemError) {
            return SharedDescriptor(try TunCreation.open())
        } catch {
            throw Self.tunError(error)
        }
    }

    package func openSockets(port: Int) throws(ControlError) -> TunnelSockets {
        guard let number = UInt16(exactly: port) else {
            throw ControlError(
                .invalidParameter,
                "The provider asked for UDP port \(port).",
                reason: "A port is 0 to 65535."
            )
        }
        do throws(OuterSocketError) {
            let sockets = try OuterSockets.open(port: number)
            return TunnelSockets(
                ipv4: sockets.ipv4,
                ipv6: sockets.ipv6,
                port: Int(sockets.port),
                note: sockets.note
            )
        } catch {
            throw ControlError(.networkSettingsFailed, error.what, reason: error.why, remedy: error.remedy)
        }
    }

    package func apply(
        _ settings: NetworkSettingsDocument,
        policy: RoutingPolicy,
        outside: TunnelSurroundings,
        to interface: InterfaceIdentity,
        port: Int?,
        restoring: Bool,
        journal: NetworkJournal,
        record: @escaping @Sendable (NetworkJournal) throws -> Void
    ) async throws(ControlError) -> (AppliedNetwork, NetworkJournal) {
        var wanted = try TunnelNetworkSettings(settings, policy: policy, interface: interface, port: port)
        wanted.passage = outside.passage
        wanted.othersEndpoints = outside.othersEndpoints.compactMap { Endpoint(text: $0) }
        // Asked before anything is changed, and put in force when all else is.
        let backend = try await chooseDNS(for: wanted, journal)
        let before = journal
        var applied: AppliedNetwork
        var journal: NetworkJournal
        do throws(NetworkSettingsError) {
            let (done, written) = try await host.apply(
                wanted,
                restoring: restoring,
                journal: before,
                record: record
            )
            applied = AppliedNetwork(
                addresses: done.addresses.map(\.description),
                routes: done.routes.map(\.description),
                mtu: done.mtu,
                notes: done.notes.map(\.text)
            )
            journal = written
        } catch {
            throw ControlError(.networkSettingsFailed, error.what, reason: error.why, remedy: error.remedy)
        }
        do throws(ControlError) {
            applied.dns = try await applyDNS(wanted, backend, &journal, record)
        } catch {
            // All or nothing; what was in force before a change its caller puts back, with the provider.
            if before.addresses.isEmpty, before.routes.isEmpty {
                journal = await host.revert(journal, removingLink: false).journal
                try? record(journal)
            }
            throw error
        }
        return (applied, journal)
    }

    package func takeBack(_ journal: NetworkJournal) async -> (removed: [String], failed: [String]) {
        var journal = journal
        var removed: [String] = []
        // What fails here is tried once more with the rest, and reported there.
        if let record = journal.dns, await dns.remove(record).isEmpty {
            journal.dns = nil
            removed.append("name servers of \(record.interface.name)")
        }
        let report = await host.revert(journal).report
        return (removed + report.removed, report.failed)
    }

    package func removeDevice(named name: String) async -> [String] {
        do {
            // The name says whose it is; another kind of link that has it by chance is left alone.
            guard let link = try await host.link(named: name), link.kind == "tun" else { return [] }
            try await host.deleteLink(index: link.index)
            return []
        } catch {
            return ["interface \(name): \(error)"]
        }
    }

    package func read(
        _ interface: InterfaceIdentity,
        _ applied: AppliedNetwork?,
        _ journal: NetworkJournal
    ) async -> InterfaceReading {
        do {
            guard let link = try await link(of: interface) else { return InterfaceReading(state: .gone, applied: nil) }
            var reading = InterfaceReading(
                state: link.isUp ? .up : .down,
                name: link.name,
                applied: nil,
                counters: link.statistics
            )
            if let applied {
                let losses = try await host.losses(of: journal, routes: applied.routes.compactMap { IPPrefix($0) })
                reading.applied = applied.without(losses, mtu: link.mtu)
                reading.lostRoutes = losses.prefixes.sorted().map(\.description)
                reading.yields = losses.yields.compactMap { yield in
                    yield.interface.map { (yield.prefix.description, $0) }
                }
                reading.dns = await readDNS(interface, applied)
            }
            return reading
        } catch {
            // What can't be asked for is no sign of anything.
            return InterfaceReading(state: .up, applied: applied)
        }
    }

    package func repair(keeping kept: [NetworkJournal]) async -> (removed: [String], failed: [String]) {
        let report = await host.repair(keeping: kept)
        var reply = (removed: report.removed, failed: report.failed)
        let stale = dns.takeBackStale(keeping: Set(kept.compactMap(\.dns?.interface)))
        reply.removed += [stale.removed].compactMap(\.self)
        reply.failed += [stale.failed].compactMap(\.self)
        return reply
    }

    package func missing(of applied: AppliedNetwork, _ journal: NetworkJournal) async -> [String] {
        let routes = applied.routes.compactMap { IPPrefix($0) }
        guard let interface = journal.interface, let link = try? await host.link(index: interface.index),
            link.name == interface.name
        else { return [] }
        let items = (try? await host.missing(of: journal, routes: routes))?.items ?? []
        return link.isUp ? items : ["the interface's being up"] + items
    }

    package func path(to endpoints: [String], by passage: OuterPassage, from port: Int?) async -> OuterPath? {
        try? await host.path(
            to: endpoints.compactMap { Endpoint(text: $0) },
            by: passage,
            from: port.flatMap { UInt16(exactly: $0) }
        )
    }

    package func resolve(_ name: String) async throws(ControlError) -> [String] {
        do throws(ResolverError) {
            return try await resolver.lookUp(name, port: 0).map { endpoint in
                endpoint.zone == 0 ? endpoint.address.description : "\(endpoint.address)%\(endpoint.zone)"
            }
        } catch {
            throw ControlError(
                error.isAnswer ? .notFound : .unavailable,
                "The name \(name) doesn't resolve.",
                reason: error.description,
                remedy: "Check the name, and that the machine's name servers answer."
            )
        }
    }

    private static func tunError(_ error: SystemError) -> ControlError {
        let finding = MachineFacts.tunFinding(error)
        return ControlError(.networkSettingsFailed, finding.what, reason: finding.why, remedy: finding.remedy)
    }

    private static func failed(_ what: String, _ why: String) -> ControlError {
        ControlError(.networkSettingsFailed, what, reason: why)
    }
}
