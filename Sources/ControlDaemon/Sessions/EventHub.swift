package import ControlAPI
import LinuxSystem
import Synchronization

/// Tells every monitor what happens, in one order, each thing once.
///
/// A monitor that doesn't take its events holds up nobody: it loses its place.
package final class EventHub: Sendable {
    /// Events that wait for a monitor.
    package static let queueLimit = 256

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

    /// A monitor's place.
    package struct Subscription: Sendable {
        fileprivate let number: UInt64
        /// The number of the last event before the first that will come.
        package let sequence: Int
        /// What was last told of each tunnel before that, by identifier.
        package let present: [String: Present]
        /// Ends after an overflow, or `unsubscribe`.
        package let events: AsyncStream<SessionsCalls.Event>
    }

    private struct Subscriber {
        let isWanted: @Sendable (_ identifier: String, Configuration.Owner) -> Bool
        let continuation: AsyncStream<SessionsCalls.Event>.Continuation
    }

    private struct State {
        var sequence = 0
        var lastNumber: UInt64 = 0
        var present: [String: Present] = [:]
        var subscribers: [UInt64: Subscriber] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether anybody would see an event; if not, it needn't be described in full.
    package var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

    /// Takes a place: every event after `present` comes.
    package func subscribe(
        _ isWanted: @escaping @Sendable (_ identifier: String, Configuration.Owner) -> Bool
    ) -> Subscription {
        let (events, continuation) = AsyncStream.makeStream(
            of: SessionsCalls.Event.self,
            bufferingPolicy: .bufferingOldest(Self.queueLimit)
        )
        return state.withLock { state in
            state.lastNumber += 1
            state.subscribers[state.lastNumber] = Subscriber(isWanted: isWanted, continuation: continuation)
            return Subscription(
                number: state.lastNumber,
                sequence: state.sequence,
                present: state.present.filter { isWanted($0.key, $0.value.owner) },
                events: events
            )
        }
    }

    package func unsubscribe(_ subscription: Subscription) {
        state.withLock { $0.subscribers.removeValue(forKey: subscription.number) }?.continuation.finish()
    }

    /// Tells an event, and keeps what it says as the tunnel's present state.
    ///
    /// - Parameter isRemoval: the configuration is removed; nothing is kept.
    package func publish(
        _ kind: SessionsCalls.Event.Kind,
        _ identifier: String,
        _ told: Present,
        snapshot: SessionView?,
        isRemoval: Bool = false,
        at time: Timestamp
    ) {
        state.withLock { state in
            state.sequence += 1
            state.present[identifier] = isRemoval ? nil : told
            let event = SessionsCalls.Event(
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
            for (number, subscriber) in state.subscribers where subscriber.isWanted(identifier, told.owner) {
                if case .dropped = subscriber.continuation.yield(event) {
                    subscriber.continuation.finish()
                    state.subscribers[number] = nil
                }
            }
        }
    }

    /// What was last told of a tunnel; nil for one that nothing was told of.
    package func present(_ identifier: String) -> Present? { state.withLock { $0.present[identifier] } }

    /// Keeps what a tunnel is without telling anybody: at the start, before there are monitors.
    package func note(_ identifier: String, _ present: Present) {
        state.withLock { $0.present[identifier] = present }
    }
}
