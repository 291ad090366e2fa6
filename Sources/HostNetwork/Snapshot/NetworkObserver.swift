import EventLoop
import LinuxSystem
import NetworkTypes

/// Keeps a snapshot of the network up to date for whoever follows it.
///
/// It reads only when told that something may have changed, and never spends more than a tenth of the time on it, however
/// large the machine's tables are and however often they change.
package actor NetworkObserver {
    private let read: @Sendable () async throws -> NetworkSnapshot
    private var latest: NetworkSnapshot?
    private var followers: [Int: AsyncStream<NetworkSnapshot>.Continuation] = [:]
    private var lastFollower = 0
    private var reading: Task<Void, Never>?
    private var isStale = false
    private static let restPerReading = 9

    /// - Parameter read: reads the network as it is.
    package init(_ read: @escaping @Sendable () async throws -> NetworkSnapshot) { self.read = read }

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
        // What was read while nobody followed is out of date.
        latest = nil
        changed()
        return stream
    }

    private func unfollow(_ number: Int) { followers[number] = nil }

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
