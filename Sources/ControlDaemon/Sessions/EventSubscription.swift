package import ControlAPI
import Synchronization
import VarlinkCore

/// A monitor's place among the events.
package final class EventSubscription: Sendable {
    private let hub: EventHub
    let number: UInt64
    /// What was so before the first event that comes.
    package let start: EventHub.Place
    let queue: EventQueue

    init(hub: EventHub, number: UInt64, start: EventHub.Place, queue: EventQueue) {
        self.hub = hub
        self.number = number
        self.start = start
        self.queue = queue
    }

    /// Something for the monitor to hear.
    package enum News: Sendable {
        case event(SharedEvent)
        /// So many events didn't fit into its queue; what comes next follows the place.
        case gap(lost: Int, EventHub.Place)
    }

    /// The next thing, in order, for the one task that listens; waits for it.
    ///
    /// - Returns: nil once the subscription is ended and everything was taken, or the task is cancelled.
    package func next() async -> News? {
        while true {
            if let news = take() { return news }
            guard await queue.wait() else { return take() }
        }
    }

    private func take() -> News? {
        if let event = queue.take() { return .event(event) }
        // The events before the gap have been taken.
        return hub.closeGap(of: self).map { .gap(lost: $0.lost, $0.1) }
    }
}

/// An event as all its monitors have it: one in memory, encoded once.
package final class SharedEvent: Sendable {
    package let event: SessionsCalls.Event
    private let encoded = Mutex<VarlinkReply?>(nil)

    init(_ event: SessionsCalls.Event) { self.event = event }

    /// The reply that tells it.
    func reply() throws -> VarlinkReply {
        try encoded.withLock { encoded in
            if let encoded { return encoded }
            let reply = try VarlinkReply(event, continues: true)
            encoded = reply
            return reply
        }
    }
}

/// The events that wait for one monitor, at most so many; after an overflow none, until the gap is closed.
final class EventQueue: Sendable {
    /// Events that wait for a monitor.
    static let limit = 256

    private struct State {
        var events: [SharedEvent] = []
        /// The place of the first in `events`; those before are taken.
        var first = 0
        var lost = 0
    }

    private let state = Mutex(State())
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init() {
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func add(_ event: SharedEvent) {
        state.withLock { state in
            // One after a lost one would be out of order for whoever believes that it has all.
            if state.lost > 0 || state.events.count - state.first >= Self.limit {
                state.lost += 1
            } else {
                state.events.append(event)
            }
        }
        signal.yield()
    }

    func take() -> SharedEvent? {
        state.withLock { state in
            guard state.first < state.events.count else { return nil }
            let event = state.events[state.first]
            state.first += 1
            if state.first == state.events.count || state.first >= Self.limit {
                state.events.removeFirst(state.first)
                state.first = 0
            }
            return event
        }
    }

    /// How many events were lost since the last time; nil where none were, or some wait that came before.
    func takeLost() -> Int? {
        state.withLock { state in
            guard state.lost > 0, state.first == state.events.count else { return nil }
            defer { state.lost = 0 }
            return state.lost
        }
    }

    /// Waits until something may have changed.
    ///
    /// - Returns: false once nothing comes any more, or the task is cancelled.
    func wait() async -> Bool {
        var iterator = signals.makeAsyncIterator()
        return await iterator.next() != nil
    }

    func close() { signal.finish() }
}
