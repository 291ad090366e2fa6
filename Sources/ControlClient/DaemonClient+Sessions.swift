package import ControlAPI
import LinuxSystem
import NetworkTypes
import VarlinkCore
import VarlinkSocket

extension DaemonClient {
    /// The state of all configurations that the caller may see, running or not.
    package func status() async throws(ControlError) -> [SessionView] {
        try await collect(SessionsCalls.interface + ".Status") { (reply: SessionsCalls.StatusReply) in reply.sessions }
    }

    /// The same in short.
    package func list() async throws(ControlError) -> [SessionsCalls.Entry] {
        try await collect(SessionsCalls.interface + ".List") { (reply: SessionsCalls.ListReply) in reply.entries }
    }

    private func collect<Reply: Decodable & Sendable, Element>(
        _ method: String,
        _ elements: (Reply) -> [Element]
    ) async throws(ControlError) -> [Element] {
        do {
            return try await collect(method, on: try await connect(), elements)
        } catch {
            throw await translate(error, of: method)
        }
    }

    private func collect<Reply: Decodable & Sendable, Element>(
        _ method: String,
        on connection: VarlinkConnection,
        _ elements: (Reply) -> [Element]
    ) async throws -> [Element] {
        do {
            var all: [Element] = []
            for try await reply in try await connection.callMore(method, firstReplyTimeout: readPatience) {
                all += elements(try reply.decode(Reply.self))
            }
            return all
        } catch {
            throw silence(error, of: connection, method)
        }
    }

    /// The state of one configuration; empty where there is none of this identifier.
    package func status(_ identifier: String) async throws(ControlError) -> [SessionView] {
        try await status(of: identifier)
    }

    private func status(of identifier: String) async throws(ControlError) -> [SessionView] {
        let parameters = SessionsCalls.StatusParameters(identifier: identifier)
        let reply: SessionsCalls.StatusReply = try await read(SessionsCalls.interface + ".Status", parameters)
        return reply.sessions
    }

    /// Asks for a start; all later news are events.
    package func start(_ identifier: String) async throws(ControlError) -> SessionsCalls.StartReply {
        let parameters = SessionsCalls.StartParameters(identifier: identifier, generation: nil)
        return try await call(SessionsCalls.interface + ".Start", parameters).reply
    }

    /// Asks for the end of the present session; none is no error.
    package func stop(_ identifier: String) async throws(ControlError) {
        let parameters = SessionsCalls.StopParameters(identifier: identifier)
        let _: NoParameters = try await call(SessionsCalls.interface + ".Stop", parameters).reply
    }

    package func statistics(_ identifier: String) async throws(ControlError) -> SessionsCalls.StatisticsReply {
        let parameters = SessionsCalls.StatusParameters(identifier: identifier)
        return try await read(SessionsCalls.interface + ".Statistics", parameters)
    }

    /// Has the provider of a running tunnel answer a message.
    ///
    /// - Parameter timeout: seconds that the provider has.
    /// - Returns: nil where it has nothing to say.
    package func sendMessage(
        _ identifier: String,
        _ message: DataValue?,
        timeout: Double
    ) async throws(ControlError) -> DataValue? {
        // tunneld keeps the time, and says what the provider did; this is for a tunneld that doesn't.
        let patient = DaemonClient(
            socket: socket,
            patience: .seconds(Int(timeout.rounded(.up))) + readPatience * 3,
            readPatience: readPatience
        )
        let parameters = MessageCalls.SendParameters(identifier: identifier, message: message, timeout: timeout)
        let received: (reply: MessageCalls.Reply, [SharedDescriptor]) = try await patient.call(
            SessionsCalls.interface + ".SendMessage",
            parameters
        )
        return received.reply.reply
    }

    package typealias Events = AsyncThrowingStream<SessionsCalls.Event, any Error>

    /// The present state and then every change, of one configuration or of all, on a connection of its own.
    ///
    /// The stream ends with a `ControlError` when the connection does, and ends the connection when nobody holds it.
    package func monitor(_ identifier: String?) async throws(ControlError) -> Events {
        try await stream(
            SessionsCalls.interface + ".Monitor",
            SessionsCalls.StatusParameters(identifier: identifier)
        )
    }
}
