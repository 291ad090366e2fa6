import ControlAPI
import HostNetwork
import VarlinkSocket

/// Answers `org.tunneld.Network`: what anybody on this machine may read from the kernel as well, and root's repair.
struct NetworkService: Sendable {
    let observer: NetworkObserver
    let tunnels: Tunnels
    /// So much waits for a client to read before changes are gathered.
    private static let unreadBytes = 64 << 10

    func register(_ service: inout VarlinkService) {
        service.on("\(NetworkCalls.interface).Snapshot") { request in
            try request.responder.reply(NetworkCalls.SnapshotReply(network: NetworkView(try await snapshot())))
        }
        service.on("\(NetworkCalls.interface).Repair") { request in
            guard Caller(request.caller).isRoot else {
                throw ControlError(
                    .permissionDenied,
                    "What tunneld left on the machine can't be taken back.",
                    reason: "It is the system's, so only root may.",
                    remedy: "Do it as root, for example with sudo."
                )
            }
            try request.responder.reply(await tunnels.repair())
        }
        service.onMore("\(NetworkCalls.interface).Watch") { try await watch($0) }
    }

    private func snapshot() async throws -> NetworkSnapshot {
        do {
            return try await observer.snapshot()
        } catch {
            throw ControlError(.unavailable, "The network can't be read.", reason: "\(error)", remedy: "Try again.")
        }
    }

    private func watch(_ request: VarlinkRequest) async throws {
        let responder = request.responder
        var last: NetworkSnapshot?
        for await snapshot in await observer.follow() {
            let changes = last.map { SnapshotChange.between($0, snapshot) } ?? []
            // Somebody else who begins to follow brings the same once more.
            if last == snapshot { continue }
            last = snapshot
            try responder.send(
                NetworkCalls.WatchReply(network: NetworkView(snapshot), changes: changes.map(NetworkChangeView.init))
            )
            await responder.drained(to: Self.unreadBytes)
        }
    }
}
