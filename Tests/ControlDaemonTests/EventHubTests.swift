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
        #expect(subscription.sequence == 2)
        #expect(subscription.present.mapValues(\.status) == ["a": .connected])
        publish("b", .connecting)
        publish("a", .disconnecting)
        hub.unsubscribe(subscription)
        var events: [SessionsCalls.Event] = []
        for await event in subscription.events { events.append(event) }
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
        var events: [SessionsCalls.Event] = []
        for await event in subscription.events { events.append(event) }
        #expect(events.map(\.sequence) == [1])
    }

    @Test func `a monitor that takes nothing loses its place and holds up nobody`() async {
        let slow = hub.subscribe { _, _ in true }
        let quick = hub.subscribe { _, _ in true }
        var taken = quick.events.makeAsyncIterator()
        for number in 1...EventHub.queueLimit + 10 {
            publish("a", .connecting)
            #expect(await taken.next()?.sequence == number)
        }
        var count = 0
        for await _ in slow.events { count += 1 }
        #expect(count == EventHub.queueLimit)
        hub.unsubscribe(slow)
        hub.unsubscribe(quick)
        #expect(!hub.hasSubscribers)
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
        var events: [SessionsCalls.Event] = []
        for await event in subscription.events { events.append(event) }
        #expect(events.map(\.kind) == [.configuration, .configuration])
        #expect(events.map(\.status) == [.disconnected, .invalid])
        #expect(hub.subscribe { _, _ in true }.present.isEmpty)
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
