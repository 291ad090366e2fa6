import Dispatch
import EventLoop
import Glibc
package import LinuxSystem

/// A socket whose messages are a label and descriptors: SEQPACKET, so that the two can't get apart.
///
/// Several tasks may send and receive; each message goes to one receiver. Nothing is read before somebody receives.
package actor DescriptorChannel {
    package struct Message: Sendable {
        /// 1 to 4096 bytes.
        package let label: [UInt8]
        /// At most 16.
        ///
        /// Closed when nobody holds them any more.
        package let descriptors: [SharedDescriptor]
    }

    package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        case disconnected
        /// An empty label, one above 4096 bytes, or more than 16 descriptors.
        case badMessage
        case cannotConnect(path: String, SystemError)

        package var description: String {
            switch self {
            case .disconnected: "the descriptor socket was closed"
            case .badMessage: "the message has no label, a label that is too long, or too many descriptors"
            case .cannotConnect(let path, let error): "cannot connect to \(path): \(error)"
            }
        }
    }

    /// The longest label.
    package static let labelLimit = 4096

    private nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Who is at the other end.
    package nonisolated let peer: PeerCredentials
    private let descriptor: SharedDescriptor
    private var readSource: DescriptorSource?
    private var writeSource: DescriptorSource?
    private var receivers: [(identifier: UInt64, continuation: CheckedContinuation<Message?, any Error>)] = []
    private var senders: [(message: Message, continuation: CheckedContinuation<Void, any Error>)] = []
    private var lastIdentifier: UInt64 = 0
    private var isClosed = false
    private var buffer = [UInt8](repeating: 0, count: labelLimit)

    /// Connects to a listener (`DescriptorListener`).
    ///
    /// - Throws: `Failure.cannotConnect`.
    package static func connect(to path: String) async throws(Failure) -> DescriptorChannel {
        do throws(SystemError) {
            return try await adopt(
                SharedDescriptor(try UnixSocket.connect(.sequencedPacket, to: UnixSocketAddress(path)))
            )
        } catch {
            throw .cannotConnect(path: path, error)
        }
    }

    /// Takes over a connected SEQPACKET socket.
    package static func adopt(_ descriptor: SharedDescriptor) async throws(SystemError) -> DescriptorChannel {
        let channel = try DescriptorChannel(descriptor)
        await channel.activate()
        return channel
    }

    private init(_ descriptor: SharedDescriptor) throws(SystemError) {
        peer = try PeerCredentials(of: descriptor.raw)
        executor = QueueExecutor(label: "descriptor-channel")
        self.descriptor = descriptor
    }

    private func activate() {
        readSource = DescriptorSource(descriptor, .readable, on: executor.queue) { @Sendable [weak self] in
            self?.assumeIsolated { $0.readable() }
        }
        writeSource = DescriptorSource(descriptor, .writable, on: executor.queue) { @Sendable [weak self] in
            self?.assumeIsolated { $0.writable() }
        }
    }

    /// Sends a label and descriptors; returns when the socket has taken them, not when they were received.
    ///
    /// The descriptors may be closed afterwards: the receiver has its own.
    package func send(_ label: some Sequence<UInt8>, _ descriptors: [SharedDescriptor] = []) async throws {
        let message = Message(label: Array(label), descriptors: descriptors)
        guard 1...Self.labelLimit ~= message.label.count, descriptors.count <= DescriptorPassing.limit else {
            throw Failure.badMessage
        }
        if isClosed { throw Failure.disconnected }
        try await withCheckedThrowingContinuation { continuation in
            senders.append((message, continuation))
            writable()
        }
    }

    /// The next message; nil when the other end has closed.
    ///
    /// - Throws: `Failure.badMessage` for one that is too long or has too many descriptors, after which the channel is
    ///   closed; `disconnected` after `close`; `CancellationError`.
    package func receive() async throws -> Message? {
        if isClosed { throw Failure.disconnected }
        lastIdentifier += 1
        let identifier = lastIdentifier
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                receivers.append((identifier, continuation))
                readable()
            }
        } onCancel: {
            Task { await self.cancelReceiver(identifier) }
        }
    }

    /// The messages that have come already, at most `limit`, without waiting; none while another receiver waits.
    package func receiveWaiting(limit: Int = 64) -> [Message] {
        var messages: [Message] = []
        while !isClosed, receivers.isEmpty, messages.count < limit {
            let received = try? unsafe buffer.withUnsafeMutableBytes { bytes in
                try unsafe DescriptorPassing.receive(into: bytes, on: descriptor.raw)
            }
            guard let received, received.count > 0, !received.isCut else { break }
            messages.append(Message(label: Array(buffer[..<received.count]), descriptors: received.descriptors))
        }
        return messages
    }

    /// Ends the channel; who waits gets `disconnected`.
    package func close() { finish(.failure(Failure.disconnected)) }

    private func readable() {
        while !isClosed, !receivers.isEmpty {
            do {
                let received = try unsafe buffer.withUnsafeMutableBytes { bytes in
                    try unsafe DescriptorPassing.receive(into: bytes, on: descriptor.raw)
                }
                guard let received else {
                    readSource?.resume()
                    return
                }
                guard received.count > 0 else { return finish(.success(nil)) }
                guard !received.isCut else { return finish(.failure(Failure.badMessage)) }
                let message = Message(label: Array(buffer[..<received.count]), descriptors: received.descriptors)
                receivers.removeFirst().continuation.resume(returning: message)
            } catch {
                finish(.failure(Failure.disconnected))
            }
        }
        readSource?.suspend()
    }

    private func writable() {
        while !isClosed, let (message, continuation) = senders.first {
            do throws(SystemError) {
                let sent = try unsafe DescriptorPassing.send(
                    message.label.span.bytes,
                    message.descriptors,
                    on: descriptor.raw
                )
                guard sent != nil else {
                    writeSource?.resume()
                    return
                }
                senders.removeFirst()
                continuation.resume()
            } catch {
                finish(.failure(Failure.disconnected))
            }
        }
        writeSource?.suspend()
    }

    private func cancelReceiver(_ identifier: UInt64) {
        guard let index = receivers.firstIndex(where: { $0.identifier == identifier }) else { return }
        receivers.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    private func finish(_ outcome: Result<Message?, any Error>) {
        guard !isClosed else { return }
        isClosed = true
        readSource?.cancel()
        writeSource?.cancel()
        UnixSocket.shutDown(descriptor.raw)
        for receiver in receivers { receiver.continuation.resume(with: outcome) }
        receivers = []
        for sender in senders { sender.continuation.resume(throwing: Failure.disconnected) }
        senders = []
    }
}
