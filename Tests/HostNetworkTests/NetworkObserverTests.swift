import Synchronization
import Testing

@testable import HostNetwork

@Suite(.timeLimit(.minutes(1))) struct NetworkObserverTests {
    /// A network that a test changes.
    private final class Pretended: Sendable {
        struct State {
            var snapshot = NetworkSnapshot()
            var readings = 0
        }
        let state = Mutex(State())

        func read() -> NetworkSnapshot {
            state.withLock { state in
                state.readings += 1
                return state.snapshot
            }
        }

        func set(_ names: String...) {
            state.withLock { state in
                state.snapshot.links = names.enumerated().map {
                    NetworkLink(index: UInt32($0.offset + 1), name: $0.element, kind: .wired)
                }
            }
        }
    }

    @Test func `who follows gets the present network and then each other one`() async throws {
        let network = Pretended()
        network.set("a")
        let observer = NetworkObserver(bus: nil) { network.read() }
        var news = await observer.follow().makeAsyncIterator()
        #expect(await news.next()?.links.map(\.name) == ["a"])
        network.set("a", "b")
        await observer.changed()
        #expect(await news.next()?.links.map(\.name) == ["a", "b"])
        // The same once more is no news: the next is what comes after.
        _ = try await observer.snapshot()
        let change = Task {
            // Whatever was told before is taken by then.
            try await Task.sleep(for: .milliseconds(100))
            network.set("c")
            await observer.changed()
        }
        #expect(await news.next()?.links.map(\.name) == ["c"])
        try await change.value
    }

    @Test func `nothing is read while nobody follows`() async throws {
        let network = Pretended()
        let observer = NetworkObserver(bus: nil) { network.read() }
        for _ in 0..<10 { await observer.changed() }
        #expect(network.state.withLock { $0.readings } == 0)
        _ = try await observer.snapshot()
        #expect(network.state.withLock { $0.readings } == 1)
    }
}
