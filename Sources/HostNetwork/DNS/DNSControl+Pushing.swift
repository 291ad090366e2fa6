import EventLoop
import LinuxSystem
import NetworkTypes
import SystemBus

/// How a tunnel's servers are told to each back end, and taken back from it.
extension DNSControl {
    func putInForce(
        _ link: LinkDNS,
        _ interface: InterfaceIdentity,
        _ backend: DNSBackend,
        isPresent: Bool,
        _ write: @Sendable (DNSRecord) throws(DNSError) -> Void
    ) async -> Result<DNSRecord, DNSError> {
        let path =
            switch backend {
            case .resolved: String?.none
            case .resolvconf: ResolvconfProgram.find(in: programs)?.path
            case .file: file.path
            }
        let record = DNSRecord(backend: backend, interface: interface, path: path)
        do throws(DNSError) {
            try write(record)
        } catch {
            return .failure(error)
        }
        let isNew = !tunnels.contains { $0.interface == interface }
        let tunnel = Tunnel(interface: interface, link: link, record: record)
        if let error = await push(tunnel), !isPresent || backend != .resolved { return .failure(error) }
        if isNew { tunnels.insert(tunnel, at: 0) }
        if let index = tunnels.firstIndex(where: { $0.interface == interface }) {
            tunnels[index].link = link
            tunnels[index].record = record
        }
        watch()
        return .success(record)
    }

    /// - Returns: why it isn't in force.
    func push(_ tunnel: Tunnel) async -> DNSError? {
        let what = "The tunnel's name servers can't be put in force."
        switch tunnel.record.backend {
        case .resolved:
            let link = tunnel.link
            let index = tunnel.interface.index
            let result = await bus.calls(within: Resolved.patience) { calls throws(BusError) in
                try Resolved.push(link, to: index, calls)
            }
            guard case .failure(let error) = result else { return nil }
            return DNSError(
                what,
                why: "systemd-resolved: \(error).",
                remedy: "Look at systemd-resolved (systemctl status systemd-resolved)."
            )
        case .resolvconf:
            guard let path = tunnel.record.path else {
                return DNSError(what, why: "resolvconf is gone.", remedy: "Install it again.")
            }
            let error = await Self.aside { () -> String? in
                do throws(ProgramRun.Failure) {
                    try ResolvconfProgram(path: path).add(tunnel.link, tunnel.interface.name)
                    return nil
                } catch {
                    return error.description
                }
            }
            return error.map { DNSError(what, why: "\($0).", remedy: "Look at what resolvconf says.") }
        case .file:
            do throws(SystemError) {
                try file.insert(
                    ResolvConfState.Tunnel(tunnel.interface, tunnel.link),
                    beside: tunnels.filter { $0.record.backend == .file && $0.interface != tunnel.interface }
                        .map { ResolvConfState.Tunnel($0.interface, $0.link) }
                )
                return nil
            } catch {
                return DNSError(what, why: "\(error).", remedy: error.fileRemedy(file.path))
            }
        }
    }

    func takeBack(_ record: DNSRecord) async -> [String] {
        tunnels.removeAll { $0.interface == record.interface }
        watch()
        switch record.backend {
        case .resolved:
            // With the link all of it goes; an answer that doesn't come is no reason to keep the link.
            let index = record.interface.index
            _ = await bus.calls(within: Self.probePatience) { calls throws(BusError) in
                try Resolved.revert(index, calls)
            }
            return []
        case .resolvconf, .file:
            let error = await Self.aside { () -> String? in
                do throws(DNSUndoFailure) {
                    try record.undo()
                    return nil
                } catch {
                    return error.description
                }
            }
            return error.map { [$0] } ?? []
        }
    }
}
