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
            if let socket = record.wgSocket, socket.remove() { reply.removed.append("socket \(socket.path)") }
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
        for item in reply.removed { services.log.notice("Repair removed \(item).") }
        for item in reply.failed { services.log.error("Repair can't remove \(item).") }
        return reply
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
