import ControlAPI
import Testing

@testable import ControlDaemon

@Suite(.timeLimit(.minutes(1))) struct EventHubTests {
    private let hub = EventHub()
    private let owner = Configuration.Owner(user: 0)

    @Test func `a monitor learns what was told before, then every event in order, once`() async {
        publish("a", .connecting)
        publish("a", .connected)
        let subscription = hub.subscribe { _, _ in true }
        #expect(subscription.start.sequence == 2)
        #expect(subscription.start.present.mapValues(\.status) == ["a": .connected])
        publish("b", .connecting)
        publish("a", .disconnecting)
        hub.unsubscribe(subscription)
        let events = await rest(of: subscription)
        #expect(events.map(\.sequence) == [3, 4])
        #expect(events.map(\.identifier) == ["b", "a"])
        #expect(events.map(\.status) == [.connecting, .disconnecting])
    }

    @Test func `a monitor is told only what it may see`() async {
        let subscription = hub.subscribe { identifier, owner in identifier == "a" && owner.user == 0 }
        publish("a", .connecting)
        publish("b", .connecting)
        hub.publish(
            .status,
            "a",
            EventHub.Present(owner: Configuration.Owner(user: 7), name: "a", status: .connected),
            snapshot: nil,
            at: .now()
        )
        hub.unsubscribe(subscription)
        let events = await rest(of: subscription)
        #expect(events.map(\.sequence) == [1])
    }

    @Test func `a monitor that takes nothing keeps its first events, learns how many it lost, and goes on`()
        async throws
    {
        let slow = hub.subscribe { _, _ in true }
        let quick = hub.subscribe { _, _ in true }
        let limit = EventQueue.limit
        #expect(limit >= 256)
        for number in 1...limit + 10 {
            publish("a", number == limit + 10 ? .connected : .connecting)
            #expect(await event(of: quick)?.sequence == number)
        }
        for number in 1...limit { #expect(await event(of: slow)?.sequence == number) }
        // Still lost: whoever takes the gap is told of it once.
        publish("b", .connecting)
        guard case .gap(let lost, let place)? = await slow.next() else {
            Issue.record("the gap isn't told")
            return
        }
        #expect(lost == 11)
        #expect(place.sequence == limit + 11)
        #expect(place.present.mapValues(\.status) == ["a": .connected, "b": .connecting])
        publish("a", .disconnecting)
        #expect(await event(of: slow)?.sequence == limit + 12)
        hub.unsubscribe(slow)
        #expect(await slow.next() == nil)
        #expect(await rest(of: quick).map(\.sequence) == [limit + 11, limit + 12])
        #expect(!hub.hasSubscribers(to: .status))
    }

    @Test func `a gap in what a monitor may see names only that`() async throws {
        let slow = hub.subscribe { identifier, _ in identifier == "a" }
        for _ in 1...EventQueue.limit + 3 {
            publish("a", .connecting)
            publish("b", .connecting)
        }
        for _ in 1...EventQueue.limit { _ = await event(of: slow) }
        guard case .gap(3, let place)? = await slow.next() else {
            Issue.record("three events were lost")
            return
        }
        #expect(Set(place.present.keys) == ["a"])
        hub.unsubscribe(slow)
    }

    @Test func `whatever a monitor takes and when, it hears of each event once, or of its loss`() async throws {
        let count = 20_000
        let subscription = hub.subscribe { _, _ in true }
        async let told: Void = tell(count)
        var last = 0
        var lost = 0
        var heard = 0
        while last < count {
            switch await subscription.next() {
            case .event(let shared)?:
                #expect(shared.event.sequence == last + 1)
                last = shared.event.sequence
                heard += 1
            case .gap(let number, let place)?:
                #expect(place.sequence == last + number)
                last = place.sequence
                lost += number
                // Slow now and then.
                if lost % 3 == 0 { await Task.yield() }
            case nil: last = count
            }
        }
        await told
        #expect(heard + lost == count)
        hub.unsubscribe(subscription)
    }

    @Test func `a watcher of configurations isn't filled with what it doesn't hear`() async throws {
        let watcher = hub.subscribe(to: .configuration) { _, _ in true }
        for _ in 1...EventQueue.limit + 1 { publish("a", .connecting) }
        hub.publishConfiguration(
            Configuration(name: "a", owner: owner, provider: .init(identifier: "x", configuration: [:])),
            isRemoval: false
        )
        #expect(await event(of: watcher)?.kind == .configuration)
        hub.unsubscribe(watcher)
    }

    @Test func `a listener that is cancelled hears nothing more`() async throws {
        let subscription = hub.subscribe { _, _ in true }
        let listening = Task { await subscription.next() }
        listening.cancel()
        #expect(await listening.value == nil)
        hub.unsubscribe(subscription)
    }

    @Test func `a removed configuration is invalid, and then nothing`() async {
        let configuration = Configuration(
            name: "home",
            owner: owner,
            provider: .init(identifier: "x", configuration: [:])
        )
        let subscription = hub.subscribe { _, _ in true }
        hub.publishConfiguration(configuration, isRemoval: false)
        hub.publishConfiguration(configuration, isRemoval: true)
        hub.unsubscribe(subscription)
        let events = await rest(of: subscription)
        #expect(events.map(\.kind) == [.configuration, .configuration])
        #expect(events.map(\.status) == [.disconnected, .invalid])
        #expect(hub.subscribe { _, _ in true }.start.present.isEmpty)
    }

    /// The next, where it is an event.
    private func event(of subscription: EventSubscription) async -> SessionsCalls.Event? {
        if case .event(let shared)? = await subscription.next() { shared.event } else { nil }
    }

    /// The events until the end of a subscription.
    private func rest(of subscription: EventSubscription) async -> [SessionsCalls.Event] {
        hub.unsubscribe(subscription)
        var events: [SessionsCalls.Event] = []
        while let event = await event(of: subscription) { events.append(event) }
        return events
    }

    @concurrent private func tell(_ count: Int) async {
        for _ in 0..<count { publish("a", .connecting) }
    }

    private func publish(_ identifier: String, _ status: TunnelStatus) {
        hub.publish(
            .status,
            identifier,
            EventHub.Present(owner: owner, name: identifier, status: status),
            snapshot: nil,
            at: .now()
        )
    }
}
