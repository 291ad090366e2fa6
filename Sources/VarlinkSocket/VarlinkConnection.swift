import EventLoop
import Glibc
package import LinuxSystem
package import NetworkTypes
package import VarlinkCore

/// A client's connection to a Varlink service.
///
/// Calls may be made at once from several tasks; the service answers them in order, so a stream (`callMore`) holds up all
/// calls behind it: give it a connection of its own. Ends when its last reference goes, or by `close`.
package actor VarlinkConnection {
    nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Who serves: the process that began to listen.
    package nonisolated let peer: PeerCredentials
    package nonisolated let messageLimit: Int
    let stream: MessageStream
    var pending: [PendingCall] = []
    /// Streams whose consumer hasn't had the last reply.
    var streams: [UInt64: StreamBuffer] = [:]
    /// Why the connection has ended: a `VarlinkClientError`, or what the service said instead; nil while it lives.
    var end: (any Error)?
    var closeHandlers: [@Sendable () -> Void] = []
    /// How many calls the service has answered.
    package internal(set) var answered = 0
    /// Calls that the service hasn't answered yet, also those that nobody waits for any more.
    package var unanswered: Int { pending.count }
    var lastIdentifier: UInt64 = 0
    var timer: BootTimer?
    var buffer = [UInt8](repeating: 0, count: 16 << 10)

    /// Connects to a service's socket.
    ///
    /// - Parameter patience: how long to go on trying while the service's backlog is full.
    /// - Throws: `VarlinkClientError.cannotConnect`; `CancellationError`.
    package static func connect(
        to path: String,
        patience: Interval = .seconds(5),
        messageLimit: Int = 4 << 20
    ) async throws -> VarlinkConnection {
        let deadline = Instant.now() + patience
        while true {
            do throws(SystemError) {
                let descriptor = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
                let connection = try VarlinkConnection(SharedDescriptor(descriptor), messageLimit: messageLimit)
                await connection.activate()
                return connection
            } catch {
                guard error.code == EAGAIN, Instant.now() < deadline else {
                    throw VarlinkClientError.cannotConnect(path: path, error)
                }
            }
            try await Pause.sleep(for: .milliseconds(10))
        }
    }

    /// Takes over a connected socket.
    package static func adopt(
        _ descriptor: SharedDescriptor,
        messageLimit: Int = 4 << 20
    ) async throws(SystemError) -> VarlinkConnection {
        let connection = try VarlinkConnection(descriptor, messageLimit: messageLimit)
        await connection.activate()
        return connection
    }

    private init(_ descriptor: SharedDescriptor, messageLimit: Int) throws(SystemError) {
        peer = try PeerCredentials(of: descriptor.raw)
        executor = QueueExecutor(label: "varlink-connection")
        stream = MessageStream(descriptor, messageLimit: messageLimit)
        self.messageLimit = messageLimit
    }

    private func activate() {
        stream.activate(on: executor.queue) { @Sendable [weak self] in
            self?.assumeIsolated { $0.readable() }
        } writable: { @Sendable [weak self] in
            self?.assumeIsolated { $0.flush() }
        }
    }

    /// Calls a method and waits for the only reply.
    ///
    /// - Parameter timeout: nil waits as long as the connection lives.
    /// - Throws: `VarlinkError` as the service replied; `VarlinkClientError`; `DecodingError` where the reply isn't a
    ///   `Result`; `CancellationError`. After a timeout or a cancellation the call may still be carried out.
    package func call<Result: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable = NoParameters(),
        as type: Result.Type = Result.self,
        descriptors: [SharedDescriptor] = [],
        timeout: Interval? = nil
    ) async throws -> Result {
        let call = VarlinkCall(method: method, parameters: try VarlinkJSON.encode(parameters))
        return try await perform(call, descriptors: descriptors, timeout: timeout).decode()
    }

    /// The same, with parameters as text, and with the descriptors of the reply.
    package func perform(
        _ call: VarlinkCall,
        descriptors: [SharedDescriptor] = [],
        timeout: Interval? = nil
    ) async throws -> ReceivedReply {
        let message = try encode(call)
        lastIdentifier += 1
        let identifier = lastIdentifier
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                add(.single(continuation), identifier, message, descriptors, timeout)
            }
        } onCancel: {
            Task { await self.abandon(identifier, CancellationError()) }
        }
    }

    /// Calls a method without asking for a reply; nobody learns whether it was carried out.
    package func callOneWay(
        _ method: String,
        _ parameters: some Encodable & Sendable = NoParameters(),
        descriptors: [SharedDescriptor] = []
    ) throws {
        let call = VarlinkCall(method: method, parameters: try VarlinkJSON.encode(parameters), replyMode: .none)
        let message = try encode(call)
        stream.enqueue(message, descriptors)
        flush()
    }

    /// Calls a method that replies again and again.
    ///
    /// - Parameter firstReplyTimeout: when the first reply hasn't come by then, the connection ends with `timedOut`.
    package func callMore(
        _ method: String,
        _ parameters: some Encodable & Sendable = NoParameters(),
        descriptors: [SharedDescriptor] = [],
        firstReplyTimeout: Interval? = nil
    ) throws -> ReplyStream {
        let call = VarlinkCall(method: method, parameters: try VarlinkJSON.encode(parameters), replyMode: .more)
        let message = try encode(call)
        lastIdentifier += 1
        streams[lastIdentifier] = StreamBuffer()
        add(.stream, lastIdentifier, message, descriptors, firstReplyTimeout)
        return ReplyStream(self, lastIdentifier)
    }

    /// Ends the connection; calls that wait fail with `disconnected`.
    package func close() { finish(VarlinkClientError.disconnected) }

    /// Calls a function once when the connection has ended, for whatever reason; at once if it has.
    package func onClose(_ body: @escaping @Sendable () -> Void) {
        if end == nil { closeHandlers.append(body) } else { body() }
    }

    private func encode(_ call: VarlinkCall) throws -> [UInt8] {
        if let end { throw end }
        let message = call.encoded()
        guard message.count <= messageLimit else { throw VarlinkClientError.requestTooLong(limit: messageLimit) }
        return message
    }

    private func add(
        _ taker: PendingCall.Taker,
        _ identifier: UInt64,
        _ message: [UInt8],
        _ descriptors: [SharedDescriptor],
        _ timeout: Interval?
    ) {
        let deadline = timeout.map { Instant.now() + $0 }
        pending.append(PendingCall(identifier: identifier, deadline: deadline, taker: taker))
        stream.enqueue(message, descriptors)
        flush()
        if deadline != nil { setTimer() }
    }
}
