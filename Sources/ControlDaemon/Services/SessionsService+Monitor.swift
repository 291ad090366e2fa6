import ControlAPI
import VarlinkSocket

/// The stream of events.
extension SessionsService {
    /// So much waits for a monitor to read before its events wait in its queue, of which all monitors share the memory.
    private static let unreadBytes = 16 << 10

    func monitor(_ request: VarlinkRequest) async throws {
        let parameters: SessionsCalls.StatusParameters = try request.parameters()
        let caller = Caller(request.caller)
        if let identifier = parameters.identifier { _ = try await visible(identifier, to: caller) }
        let subscription = hub.subscribe { [permission] identifier, owner in
            permission.maySee(owner, caller) && (parameters.identifier ?? identifier) == identifier
        }
        defer { hub.unsubscribe(subscription) }
        let responder = request.responder
        try await tellPresent(subscription.start, of: parameters.identifier, caller, responder)
        while let news = await subscription.next() {
            switch news {
            case .event(let event): try responder.send(event.reply())
            case .gap(let lost, let place):
                try responder.send(
                    SessionsCalls.Event(.resynchronise, lost: lost, sequence: place.sequence, at: .now())
                )
                try await tellPresent(place, of: parameters.identifier, caller, responder)
            }
            await responder.drained(to: Self.unreadBytes)
        }
    }

    /// What was so at a place, all of it.
    private func tellPresent(
        _ place: EventHub.Place,
        of identifier: String?,
        _ caller: Caller,
        _ responder: Responder
    ) async throws {
        let configurations = await store.configurations().filter {
            permission.maySee($0.owner, caller) && (identifier ?? $0.identifier) == $0.identifier
        }
        for (configuration, view) in zip(configurations, await views(configurations)) {
            // What was told before the first event to come, not what has happened since.
            let told = place.present[configuration.identifier]
            let event = SessionsCalls.Event(
                sequence: place.sequence,
                time: .now(),
                kind: .present,
                identifier: configuration.identifier,
                name: configuration.name,
                status: told?.status ?? .disconnected,
                reason: told?.reason,
                error: told?.error,
                snapshot: view
            )
            try responder.send(event)
            await responder.drained(to: Self.unreadBytes)
        }
        try responder.send(SessionsCalls.Event(.ready, sequence: place.sequence, at: .now()))
    }
}
