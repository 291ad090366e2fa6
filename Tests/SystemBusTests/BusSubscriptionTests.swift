import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes
import Synchronization
import TestSupport
import Testing

@testable import SystemBus

/// Subscriptions where there is no bus, or one that doesn't answer.
@Suite(.timeLimit(.minutes(1))) struct BusSubscriptionTests {
    @Test func `a bus that isn't there is told, and tried again at growing intervals until it is cancelled`()
        async throws
    {
        let heard = Heard()
        let subscription = BusSubscription(
            SystemBus(address: "unix:path=/nonexistent/bus"),
            ["type='signal'"],
            on: DispatchQueue(label: "test")
        ) { heard.add($0) }
        #expect(await eventually { heard.times.count == 3 })
        let times = heard.times
        #expect(times[1] - times[0] >= .milliseconds(200) && times[2] - times[1] >= .milliseconds(400))
        #expect(heard.all.allSatisfy { if case .lost(.unavailable) = $0 { true } else { false } })
        subscription.cancel()
        let count = heard.times.count
        // The next would come 800 ms after the third.
        try await Pause.sleep(for: .milliseconds(1500))
        #expect(heard.times.count <= count + 1)
    }
}

private final class Heard: Sendable {
    private let list = Mutex<[(Instant, BusNews)]>([])
    func add(_ news: BusNews) { list.withLock { $0.append((.now(), news)) } }
    var times: [Instant] { list.withLock { $0.map(\.0) } }
    var all: [BusNews] { list.withLock { $0.map(\.1) } }
}
