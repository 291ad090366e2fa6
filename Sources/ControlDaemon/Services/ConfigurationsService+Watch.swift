import ControlAPI
import VarlinkCore
import VarlinkSocket

/// The configurations as they change.
extension ConfigurationsService {
    /// So much waits for a watcher to read before its events wait in its queue.
    private static let unreadBytes = 16 << 10

    func watch(_ request: VarlinkRequest) async throws {
        let caller = Caller(request.caller)
        let subscription = hub.subscribe(to: .configuration) { [permission] _, owner in permission.maySee(owner, caller)
        }
        defer { hub.unsubscribe(subscription) }
        let responder = request.responder
        let disclosure = await Disclosure(to: caller, catalogue)
        try await tellAll(subscription.start, caller, disclosure, responder)
        while let news = await subscription.next() {
            switch news {
            case .event(let shared):
                let event = shared.event
                guard let identifier = event.identifier else { continue }
                let configuration = event.status == .invalid ? nil : await store.configuration(identifier)
                try responder.send(
                    Self.reply(
                        configuration == nil ? .removed : .changed,
                        event.sequence,
                        configuration.map(disclosure.shown),
                        of: identifier
                    )
                )
            case .gap(_, let place):
                try responder.send(Self.reply(.resynchronise, place.sequence))
                try await tellAll(place, caller, disclosure, responder)
            }
            await responder.drained(to: Self.unreadBytes)
        }
    }

    private func tellAll(
        _ place: EventHub.Place,
        _ caller: Caller,
        _ disclosure: Disclosure,
        _ responder: Responder
    ) async throws {
        for configuration in await store.configurations() where permission.maySee(configuration.owner, caller) {
            let shown = disclosure.shown(configuration)
            try responder.send(Self.reply(.present, place.sequence, shown, of: configuration.identifier))
            await responder.drained(to: Self.unreadBytes)
        }
        try responder.send(Self.reply(.ready, place.sequence))
    }

    private static func reply(
        _ kind: ConfigurationsCalls.WatchReply.Kind,
        _ sequence: Int,
        _ configuration: Configuration? = nil,
        of identifier: String? = nil
    ) -> ConfigurationsCalls.WatchReply {
        ConfigurationsCalls.WatchReply(
            sequence: sequence,
            time: .now(),
            kind: kind,
            identifier: identifier,
            configuration: configuration
        )
    }
}
