import ControlAPI
import NetworkTypes
import VarlinkSocket

/// Messages of clients to providers.
extension SessionsService {
    func sendMessage(
        _ parameters: MessageCalls.SendParameters,
        _ request: VarlinkRequest
    ) async throws -> MessageCalls.Reply {
        let caller = Caller(request.caller)
        let configuration = try await visible(parameters.identifier, to: caller)
        let name = configuration.name
        try await permission.check(.control, on: configuration.owner, by: caller, "send a message to \(name)")
        let timeout = try Self.timeout(parameters)
        do {
            guard let tunnel = await tunnels.existing(configuration.identifier) else { throw Tunnel.nobodyToHear(name) }
            return try await tunnel.send(parameters.message, to: parameters.session, within: timeout)
        } catch let error as ControlError where error.name == .tunnelNotRunning && !configuration.enabled {
            throw ControlError(
                .configurationDisabled,
                "Can't send a message to \(name): it is disabled.",
                remedy: "Enable and start it first."
            )
        }
    }

    private static func timeout(_ parameters: MessageCalls.SendParameters) throws(ControlError) -> Interval {
        guard (parameters.message?.bytes.count ?? 0) <= MessageCalls.limit else {
            throw ControlError(
                .invalidParameter,
                "The message is too long.",
                reason: "It may have at most \(MessageCalls.limit) bytes.",
                field: "message"
            )
        }
        let seconds = parameters.timeout ?? MessageCalls.standardTimeout
        guard seconds > 0, seconds <= MessageCalls.longestTimeout else {
            throw ControlError(
                .invalidParameter,
                "The time to wait for the answer can't be used.",
                reason: "It should be above 0 and at most \(Int(MessageCalls.longestTimeout)) seconds.",
                field: "timeout"
            )
        }
        return .milliseconds(max(1, Int(seconds * 1000)))
    }
}
