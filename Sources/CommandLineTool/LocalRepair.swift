import ControlAPI
import FoundationEssentials
import Glibc
import HostNetwork
import LinuxSystem
import Netlink

/// Takes back all that tunneld left on this machine, where no tunneld runs that could.
struct LocalRepair {
    /// tunneld's runtime directory.
    let runtime: String
    /// Whether tunnels that still run are ended.
    let force: Bool

    /// What of a session's journal counts here.
    private struct Session: Decodable {
        let network: NetworkJournal
        let wgSocket: FileRecord?
        let interface: String?

        /// Removes the socket for `wg`, also one that tunneld didn't live to write down.
        func removeSocket() -> String? {
            if let wgSocket { return wgSocket.remove() ? wgSocket.path : nil }
            guard let interface else { return nil }
            let path = "\(Ownership.wgSocketFolder)/\(interface).sock"
            return UnixListener.removeStaleFile(at: path) ? path : nil
        }
    }

    /// - Throws: where somebody runs that needs it.
    func run() throws(ControlError) -> NetworkCalls.RepairReply {
        guard geteuid() == 0 else {
            throw ControlError(
                .permissionDenied,
                "What tunneld left can't be taken back.",
                reason: "No tunneld runs that could be asked, and this is user \(geteuid()).",
                remedy: "Do it as root, for example with sudo."
            )
        }
        let lock = try lock()
        defer { lock?.release() }
        do {
            let applier = NetworkApplier(socket: try RouteSocket())
            let running = try applier.tunnelLinks().filter(\.isRunning).map(\.name)
            guard running.isEmpty || force else {
                throw ControlError(
                    .unavailable,
                    "What tunneld left can't be taken back while tunnels run.",
                    reason: "A provider has \(running.joined(separator: ", ")).",
                    remedy: "Start tunneld, which goes on with them, or end them with --force."
                )
            }
            return repair(applier)
        } catch let error as ControlError {
            throw error
        } catch {
            throw ControlError(.networkSettingsFailed, "The network can't be read.", reason: "\(error)")
        }
    }

    /// The lock that a running tunneld has; nil where there is nothing to lock.
    private func lock() throws(ControlError) -> LockFile? {
        do throws(LockFile.Failure) {
            return try LockFile.acquire(path: runtime + "/lock")
        } catch {
            guard case .held(let held) = error else { return nil }
            throw ControlError(
                .unavailable,
                "What tunneld left can't be taken back.",
                reason: "A tunneld runs that doesn't answer: \(held).",
                remedy: "Name its socket with --socket, or end it first."
            )
        }
    }

    private func repair(_ applier: NetworkApplier) -> NetworkCalls.RepairReply {
        var reply = NetworkCalls.RepairReply(removed: [], failed: [])
        let folder = runtime + "/journal"
        for name in ((try? FileSystem.names(inFolder: folder)) ?? []).sorted() where name.hasSuffix(".json") {
            let path = "\(folder)/\(name)"
            if let bytes = try? FileSystem.contents(ofFile: path, limit: 8 << 20),
                let session = try? JSONDecoder().decode(Session.self, from: Data(bytes))
            {
                var journal = session.network
                let report = applier.revert(&journal)
                reply.removed += report.removed
                reply.failed += report.failed
                if let path = session.removeSocket() { reply.removed.append("socket \(path)") }
                // What couldn't be taken back must still be known.
                guard report.isComplete else { continue }
            }
            // What one that can't be understood names carries our marks.
            do throws(SystemError) {
                try AtomicFile.remove(path)
                reply.removed.append("session journal \(path)")
            } catch {
                reply.failed.append("session journal \(path): \(error)")
            }
        }
        let rest = applier.repair(keeping: [], endingOthers: true)
        reply.removed += rest.removed
        reply.failed += rest.failed
        let stale = StaleNameServers.takeBack()
        reply.removed += [stale.removed].compactMap(\.self)
        reply.failed += [stale.failed].compactMap(\.self)
        // Last, so that nothing leaves the machine while the tunnels' routes go.
        do {
            if try BootBlock.remove() { reply.removed.append("the block (nftables inet tunneld, netdev tunneld)") }
            // By it the next tunneld would put the block back.
            let state = runtime + "/block.json"
            if unsafe access(state, F_OK) == 0 { try AtomicFile.remove(state) }
        } catch {
            reply.failed.append("the block: \(error)")
        }
        return reply
    }
}
