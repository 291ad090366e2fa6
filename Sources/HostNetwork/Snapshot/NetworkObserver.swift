import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes
package import SystemBus

/// Keeps a snapshot of the network up to date for whoever follows it.
///
/// It reads only when told that something may have changed, and never spends more than a tenth of the time on it, however
/// large the machine's tables are and however often they change.
package actor NetworkObserver {
    private let read: @Sendable () async throws -> NetworkSnapshot
    private let bus: SystemBus?
    /// There while somebody follows.
    private var watch: SnapshotWatch?
    private var latest: NetworkSnapshot?
    private var followers: [Int: AsyncStream<NetworkSnapshot>.Continuation] = [:]
    private var lastFollower = 0
    private var reading: Task<Void, Never>?
    private var isStale = false
    private static let restPerReading = 9

    /// - Parameters:
    ///   - bus: where those who know name servers and metered links announce changes; nil: nobody is listened to.
    ///   - read: reads the network as it is.
    package init(bus: SystemBus?, _ read: @escaping @Sendable () async throws -> NetworkSnapshot) {
        self.bus = bus
        self.read = read
    }

    /// The network as it is now.
    package func snapshot() async throws -> NetworkSnapshot {
        let snapshot = try await read()
        tell(snapshot)
        return snapshot
    }

    /// Something may have changed.
    package func changed() {
        guard !followers.isEmpty else { return }
        isStale = true
        guard reading == nil else { return }
        reading = Task { await self.readWhileStale() }
    }

    /// The network as it is, then as it is after each change; who is slow gets the newest.
    package func follow() -> AsyncStream<NetworkSnapshot> {
        lastFollower += 1
        let number = lastFollower
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkSnapshot.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        continuation.onTermination = { [weak self] _ in Task { await self?.unfollow(number) } }
        followers[number] = continuation
        if let bus, watch == nil {
            watch = SnapshotWatch(bus, on: DispatchQueue(label: "network-observer")) { [weak self] in
                Task { await self?.changed() }
            }
        }
        // What was read while nobody followed is out of date.
        latest = nil
        changed()
        return stream
    }

    private func unfollow(_ number: Int) {
        followers[number] = nil
        guard followers.isEmpty else { return }
        watch?.cancel()
        watch = nil
    }

    private func readWhileStale() async {
        while isStale {
            isStale = false
            let began = Instant.now()
            // What can't be read now is read at the next change; the last snapshot stays.
            if let snapshot = try? await read() { tell(snapshot) }
            try? await Pause.sleep(for: (Instant.now() - began) * Self.restPerReading)
        }
        reading = nil
    }

    private func tell(_ snapshot: NetworkSnapshot) {
        guard snapshot != latest else { return }
        latest = snapshot
        for follower in followers.values { follower.yield(snapshot) }
    }
}
