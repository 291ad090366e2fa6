import ControlAPI
import VarlinkCore
import VarlinkSocket

/// The configurations as they change.
extension ConfigurationsService {
    func watch(_ request: VarlinkRequest) async throws {
        let responder = request.responder
        let caller = Caller(request.caller)
        let subscription = hub.subscribe { [permission] _, owner in permission.maySee(owner, caller) }
        defer { hub.unsubscribe(subscription) }
        func send(
            _ kind: ConfigurationsCalls.WatchReply.Kind,
            _ sequence: Int,
            _ configuration: Configuration?,
            of it: String?
        )
            async throws
        {
            try responder.send(
                ConfigurationsCalls.WatchReply(
                    sequence: sequence,
                    time: .now(),
                    kind: kind,
                    identifier: it,
                    configuration: configuration
                )
            )
            if responder.queuedBytes > 256 << 10 { await responder.drained() }
        }
        for configuration in await store.configurations() where permission.maySee(configuration.owner, caller) {
            try await send(.present, subscription.sequence, configuration, of: configuration.identifier)
        }
        try await send(.ready, subscription.sequence, nil, of: nil)
        for await event in subscription.events where event.kind == .configuration {
            guard let identifier = event.identifier else { continue }
            let configuration = event.status == .invalid ? nil : await store.configuration(identifier)
            try await send(configuration == nil ? .removed : .changed, event.sequence, configuration, of: identifier)
        }
        guard !Task.isCancelled else { return }
        throw ControlError(
            .tooMany,
            "The watcher was too slow.",
            reason: "More than \(EventHub.queueLimit) events waited for it.",
            remedy: "Call Watch again; it begins with what is there."
        )
    }
}
