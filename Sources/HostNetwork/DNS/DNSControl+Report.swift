import LinuxSystem
import NetworkTypes
import SystemBus

extension DNSControl {
    /// How a tunnel's servers fare now; nil for a tunnel without any in force.
    package func report(of interface: InterfaceIdentity) async -> DNSReport? {
        guard let tunnel = tunnels.first(where: { $0.interface.index == interface.index }) else { return nil }
        var report = DNSReport(tunnel.record.backend)
        let lines = file.lines()
        switch tunnel.record.backend {
        case .resolved:
            switch await read(tunnel.interface.index) {
            case .success(let found):
                if !found.routes(tunnel.link) {
                    report.fail("another program took the tunnel's servers from systemd-resolved.")
                }
                report.notes += found.differences(from: tunnel.link)
            case .failure(.refused("org.freedesktop.DBus.Error.UnknownMethod", _)),
                .failure(.refused("org.freedesktop.DBus.Error.UnknownProperty", _)):
                break
            case .failure(let error): report.fail("systemd-resolved can't be asked: \(error).")
            }
            if let content = try? file.read(),
                let reason = DNSEffect.obstacleToResolved(content, lines, path: file.path)
            {
                report.fail(reason)
            }
        case .resolvconf, .file:
            if let reason = DNSEffect.obstacle(to: tunnel.link, lines, path: file.path) { report.fail(reason) }
            if tunnel.record.backend == .file { report.notes += limits(of: tunnel.link) }
        }
        if tunnels.first(where: { $0.interface == tunnel.interface })?.limiter.isFought(.now()) == true {
            report.notes.append(
                "Another program keeps undoing the tunnel's name servers; they are put back \(PushLimiter.pace)."
            )
        }
        return report
    }

    /// What a file can't do.
    private func limits(of link: LinkDNS) -> [String] {
        var notes: [String] = []
        if !link.takesAllNames, !link.matchDomains.isEmpty, !link.servers.isEmpty {
            notes.append(
                "\(file.path) can't say which names go where, so all are asked of the tunnel's servers first; "
                    + "systemd-resolved can."
            )
        }
        if link.servers.count > ResolvConfState.serverLimit {
            notes.append("Programs use the first \(ResolvConfState.serverLimit) servers of \(file.path) alone.")
        }
        return notes
    }

    /// Whom to ask for a gateway's name; nil: whoever stands at /etc/resolv.conf, for nothing there is a tunnel's.
    ///
    /// - Throws: why nobody can be asked.
    package func underlay(for host: String) async throws(DNSError) -> UnderlayResolvers? {
        let content = (try? file.read()) ?? .missing
        let state = ResolvConfState(reading: content)
        let lines = state.map { file.lines(of: $0.original) ?? $0.base } ?? file.lines(of: content) ?? ResolvConf()
        if lines.isStub || tunnels.contains(where: { $0.record.backend == .resolved }) && lines.servers.isEmpty {
            if let found = try await resolvedUnderlay(for: host) { return found }
            return state == nil ? nil : UnderlayResolvers(lines, without: [])
        }
        let own = Set(tunnels.flatMap(\.link.servers).map(\.description))
        let isOthers = state != nil || tunnels.allSatisfy { $0.record.backend == .resolved }
        if isOthers { return state == nil ? nil : UnderlayResolvers(lines, without: []) }
        // A resolvconf mixes them all.
        if let found = UnderlayResolvers(lines, without: own) ?? ResolvconfRecords.underlay(without: own) {
            return found
        }
        throw DNSError(
            "Nobody outside of the tunnels can be asked for names.",
            why: "All servers in \(file.path) are a tunnel's.",
            remedy: "Give the gateway's address in place of its name."
        )
    }

    /// nil where systemd-resolved can't be asked.
    private func resolvedUnderlay(for host: String) async throws(DNSError) -> UnderlayResolvers? {
        guard await BusPeer.isHere(Resolved.name, bus, within: .seconds(1)) else { return nil }
        let own = ownInterfaces
        let result = await bus.calls(within: .seconds(1)) { calls throws(BusError) -> UnderlayResolvers in
            let servers = try Resolved.servers(calls)
            let indexes = Set(servers.map(\.link)).filter { $0 != 0 && !own.contains($0) }.sorted().prefix(32)
            let links = indexes.map { index in
                let found = try? Resolved.read(index, calls)
                return UnderlayResolvers.Link(
                    index: index,
                    domains: found?.domains ?? [],
                    isDefaultRoute: found?.isDefaultRoute ?? true
                )
            }
            return UnderlayResolvers(for: host, servers, links, isTunnel: own.contains)
        }
        guard case .success(let found) = result else { return nil }
        guard found.servers.isEmpty else { return found }
        // Without any tunnel's servers it asks those that it falls back on, so it may be asked itself.
        guard tunnels.contains(where: { $0.record.backend == .resolved && $0.link.isDefaultRoute }) else { return nil }
        throw DNSError(
            "Nobody outside of the tunnels can be asked for names.",
            why: "systemd-resolved knows no server of any other link.",
            remedy: "Connect the machine to a network that has one, or give the gateway's address in place of its name."
        )
    }
}
