package import ControlAPI
import LinuxSystem
import Synchronization

/// Tells every monitor what happens, in one order, each thing once.
///
/// A monitor that doesn't take its events holds up nobody: what doesn't fit into its queue it loses, and is told so.
package final class EventHub: Sendable {
    /// What was last told of a tunnel.
    package struct Present: Sendable {
        package var owner: Configuration.Owner
        package var name: String
        package var status: TunnelStatus
        package var reason: String?
        package var error: ControlError?

        package init(
            owner: Configuration.Owner,
            name: String,
            status: TunnelStatus,
            reason: String? = nil,
            error: ControlError? = nil
        ) {
            self.owner = owner
            self.name = name
            self.status = status
            self.reason = reason
            self.error = error
        }
    }

    /// Where in the one order somebody stands, and what was so there.
    package struct Place: Sendable {
        /// The number of the last event before the first that will come.
        package let sequence: Int
        /// What was last told of each tunnel before that, by identifier.
        package let present: [String: Present]
    }

    package typealias Wish = @Sendable (_ identifier: String, Configuration.Owner) -> Bool

    private struct Subscriber {
        /// Nil: every kind.
        let kind: SessionsCalls.Event.Kind?
        let isWanted: Wish
        let queue: EventQueue
    }

    private struct State {
        var sequence = 0
        var lastNumber: UInt64 = 0
        var present: [String: Present] = [:]
        var subscribers: [UInt64: Subscriber] = [:]

        func place(for isWanted: Wish) -> Place {
            Place(sequence: sequence, present: present.filter { isWanted($0.key, $0.value.owner) })
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether anybody would see an event; if not, it needn't be described in full.
    package func hasSubscribers(to kind: SessionsCalls.Event.Kind) -> Bool {
        state.withLock { state in state.subscribers.values.contains { ($0.kind ?? kind) == kind } }
    }

    /// Takes a place: every event after it comes.
    ///
    /// - Parameter kind: nil: events of every kind.
    package func subscribe(
        to kind: SessionsCalls.Event.Kind? = nil,
        _ isWanted: @escaping Wish
    ) -> EventSubscription {
        let queue = EventQueue()
        return state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            state.subscribers[number] = Subscriber(kind: kind, isWanted: isWanted, queue: queue)
            return EventSubscription(
                hub: self,
                number: number,
                start: state.place(for: isWanted),
                queue: queue
            )
        }
    }

    /// No further event comes; those that wait can still be taken.
    package func unsubscribe(_ subscription: EventSubscription) {
        state.withLock { $0.subscribers.removeValue(forKey: subscription.number) }?.queue.close()
    }

    /// Tells an event, and keeps what it says as the tunnel's present state.
    package func publish(
        _ kind: SessionsCalls.Event.Kind,
        _ identifier: String,
        _ told: Present,
        snapshot: SessionView?,
        at time: Timestamp
    ) {
        publish(kind, identifier, snapshot: snapshot, at: time) { _ in (told, isKept: true) }
    }

    /// Tells an event that depends on what was told last of the tunnel.
    ///
    /// - Parameter told: what to tell after that, and whether it is kept as the present state; else nothing is.
    package func publish(
        _ kind: SessionsCalls.Event.Kind,
        _ identifier: String,
        snapshot: SessionView?,
        at time: Timestamp,
        _ told: (_ before: Present?) -> (Present, isKept: Bool)
    ) {
        state.withLock { state in
            let (told, isKept) = told(state.present[identifier])
            state.sequence += 1
            state.present[identifier] = isKept ? told : nil
            let event = SharedEvent(
                SessionsCalls.Event(
                    sequence: state.sequence,
                    time: time,
                    kind: kind,
                    identifier: identifier,
                    name: told.name,
                    status: told.status,
                    reason: told.reason,
                    error: told.error,
                    snapshot: snapshot
                )
            )
            for subscriber in state.subscribers.values
            where (subscriber.kind ?? kind) == kind && subscriber.isWanted(identifier, told.owner) {
                subscriber.queue.add(event)
            }
        }
    }

    /// Keeps what a tunnel is without telling anybody: at the start, before there are monitors.
    package func note(_ identifier: String, _ present: Present) {
        state.withLock { $0.present[identifier] = present }
    }

    /// Ends a gap in a monitor's events: from the place on, every event comes again.
    ///
    /// - Returns: how many were lost; nil where none were.
    func closeGap(of subscription: EventSubscription) -> (lost: Int, Place)? {
        state.withLock { state in
            // Nothing is told meanwhile, so nothing can be lost between the two.
            guard let lost = subscription.queue.takeLost() else { return nil }
            let isWanted = state.subscribers[subscription.number]?.isWanted
            return (lost, isWanted.map(state.place) ?? Place(sequence: state.sequence, present: [:]))
        }
    }
}
