package import ControlAPI
import HostNetwork
import Journal
import LinuxSystem

extension Tunnels {
    /// Takes back everything that tunneld left and that no tunnel of its own needs.
    package func repair() async -> NetworkCalls.RepairReply {
        var reply = NetworkCalls.RepairReply(removed: [], failed: [])
        var kept: [NetworkJournal] = []
        var running: Set<String> = []
        for (identifier, tunnel) in allExisting() {
            guard let network = await tunnel.networkInForce() else { continue }
            kept.append(network)
            running.insert(identifier)
        }
        let (records, damaged) = (try? services.journal.records()) ?? ([], [])
        var files = damaged
        for record in records where !running.contains(record.configuration.identifier) {
            let identifier = record.configuration.identifier
            // One that was stopped just now, or is being, sees to it itself.
            guard await existing(identifier)?.isIdle ?? true else { continue }
            let report = await services.network.takeBack(record.network)
            reply.removed += report.removed
            reply.failed += report.failed
            if let path = WGSocket.remove(record, in: services.wgFolder) { reply.removed.append("socket \(path)") }
            // What couldn't be taken back must still be known.
            if report.failed.isEmpty { files.append(services.journal.path(identifier)) }
        }
        for path in files {
            do throws(SystemError) {
                try AtomicFile.remove(path)
                reply.removed.append("session journal \(path)")
            } catch {
                reply.failed.append("session journal \(path): \(error)")
            }
        }
        let report = await services.network.repair(keeping: kept)
        reply.removed += report.removed
        reply.failed += report.failed
        // Last, so that nothing leaves the machine while what is left of the tunnels goes.
        await liftLeftBlocks(besides: running, &reply)
        for item in reply.removed { services.log.notice("Repair removed \(item).") }
        for item in reply.failed { services.log.error("Repair can't remove \(item).") }
        return reply
    }
}

extension Tunnels {
    /// Lifts the block where it stands for a tunnel that is down and that nobody stopped.
    ///
    /// Whoever repairs says that traffic may pass. What configurations ask for at any time stays.
    private func liftLeftBlocks(besides running: Set<String>, _ reply: inout NetworkCalls.RepairReply) async {
        for (identifier, holder) in blocks.status.holders where !running.contains(identifier) {
            guard await blocks.isLeft(identifier), await existing(identifier)?.isIdle ?? true else { continue }
            if let tunnel = existing(identifier) {
                await tunnel.carryOut(.release)
            } else {
                await blocks.release(identifier)
            }
            let what = "the block for \(holder.name)"
            if blocks.status.holders[identifier] == nil {
                reply.removed.append(what)
            } else {
                reply.failed.append("\(what): \(TunnelctlCommand.text("status", holder.name)) says why it stands")
            }
        }
    }
}

extension Tunnel {
    /// What the session has in force, or may be putting in force; nil without a session.
    func networkInForce() async -> NetworkJournal? {
        await networkTurn?.value
        guard let record = live?.record else { return nil }
        var network = record.network
        // It is named before it is made.
        if network.interface == nil, let name = record.interface {
            network.interface = InterfaceIdentity(index: 0, name: name)
        }
        return network
    }
}
