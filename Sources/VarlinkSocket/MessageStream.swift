import Dispatch
import EventLoop
import LinuxSystem
import VarlinkCore

/// One end of a Varlink connection: bytes in and out, cut into messages, each with the descriptors that came with it.
///
/// Belongs to the queue of the actor that owns it. Nothing here blocks.
final class MessageStream {
    struct Message {
        let bytes: [UInt8]
        let descriptors: [SharedDescriptor]
    }

    enum ReadResult: Equatable {
        case bytes(Int), nothing, end
    }

    private struct Outgoing {
        let bytes: [UInt8]
        var descriptors: [SharedDescriptor]
    }

    /// Descriptors, and the place in the stream of the last byte that was read with them.
    private struct Arrival {
        let position: UInt64
        let descriptors: [SharedDescriptor]
    }

    private let descriptor: SharedDescriptor
    /// Numbers that received descriptors must stay below.
    private let descriptorCeiling: Int32
    private var readSource: DescriptorSource?
    private var writeSource: DescriptorSource?
    private var framer: MessageFramer
    private var received: UInt64 = 0
    private var arrivals: [Arrival] = []
    private var outgoing: [Outgoing] = []
    private var firstOutgoing = 0
    private var sentOfFirst = 0
    private var wantsOutput = false
    /// Bytes that wait for the socket to take them.
    private(set) var queuedBytes = 0

    init(_ descriptor: SharedDescriptor, messageLimit: Int, descriptorCeiling: Int32 = .max) {
        self.descriptor = descriptor
        self.descriptorCeiling = descriptorCeiling
        framer = MessageFramer(limit: messageLimit)
    }

    /// Begins to watch the socket; `readable` and `writable` are called on `queue`.
    func activate(
        on queue: DispatchQueue,
        readable: @escaping @Sendable () -> Void,
        writable: @escaping @Sendable () -> Void
    ) {
        readSource = DescriptorSource(descriptor, .readable, on: queue, handler: readable)
        writeSource = DescriptorSource(descriptor, .writable, on: queue, handler: writable)
        isReading = true
    }

    /// Whether `readable` is called when there is something to read, or the end.
    var isReading = false {
        didSet {
            guard isReading != oldValue else { return }
            if isReading { readSource?.resume() } else { readSource?.suspend() }
        }
    }

    /// Bytes that were read and not taken as messages.
    var bufferedBytes: Int { framer.bufferedBytes }
    /// Whether descriptors wait for their message to be taken.
    var holdsDescriptors: Bool { !arrivals.isEmpty }
    /// Nobody is left at the other end to read or write.
    var isHungUp: Bool { UnixSocket.isHungUp(descriptor.raw) }

    /// Reads once, at most the size of `buffer`.
    ///
    /// - Throws: the call's error as a `SystemError`; `MessageError.tooManyDescriptors`, after which nothing in the
    ///   stream can be trusted.
    func fill(by buffer: UnsafeMutableRawBufferPointer) throws -> ReadResult {
        guard let result = try unsafe DescriptorPassing.receive(into: buffer, on: descriptor.raw) else {
            return .nothing
        }
        if result.isCut || result.descriptors.contains(where: { $0.raw >= descriptorCeiling }) {
            throw MessageError.tooManyDescriptors(limit: DescriptorPassing.limit)
        }
        guard result.count > 0 else { return .end }
        unsafe framer.append(buffer[..<result.count])
        received += UInt64(result.count)
        if !result.descriptors.isEmpty {
            // Whoever owns the stream reads no further while it holds any, so more than these belong to one message.
            let held = arrivals.reduce(0) { $0 + $1.descriptors.count }
            guard held + result.descriptors.count <= DescriptorPassing.limit else {
                throw MessageError.tooManyDescriptors(limit: DescriptorPassing.limit)
            }
            // The kernel ends a read behind the piece that had descriptors, so its last byte belongs to their message.
            arrivals.append(Arrival(position: received - 1, descriptors: result.descriptors))
        }
        return .bytes(result.count)
    }

    /// The next whole message; nil until more has been read.
    func next() throws(MessageError) -> Message? {
        guard let bytes = try framer.next() else { return nil }
        var descriptors: [SharedDescriptor] = []
        while let arrival = arrivals.first, arrival.position < framer.consumedBytes {
            descriptors += arrival.descriptors
            arrivals.removeFirst()
        }
        return Message(bytes: bytes, descriptors: descriptors)
    }

    /// Adds a message; `flush` sends it.
    func enqueue(_ message: [UInt8], _ descriptors: [SharedDescriptor] = []) {
        outgoing.append(Outgoing(bytes: message + [0], descriptors: descriptors))
        queuedBytes += message.count + 1
    }

    /// Sends what the socket takes; the rest goes when `writable` has been called and calls this again.
    ///
    /// - Returns: how many bytes went.
    func flush() throws(SystemError) -> Int {
        var sent = 0
        while firstOutgoing < outgoing.count {
            let message = outgoing[firstOutgoing]
            // One message a call, so that descriptors can be told to belong to it.
            let count = try unsafe DescriptorPassing.send(
                message.bytes.span.bytes.extracting(sentOfFirst...),
                message.descriptors,
                on: descriptor.raw
            )
            guard let count else { break }
            sent += count
            queuedBytes -= count
            sentOfFirst += count
            outgoing[firstOutgoing].descriptors = []
            if sentOfFirst == message.bytes.count {
                sentOfFirst = 0
                firstOutgoing += 1
            }
        }
        forgetSent()
        watchOutput(!outgoing.isEmpty)
        return sent
    }

    /// Drops what wasn't sent.
    func discardOutput() {
        outgoing = []
        firstOutgoing = 0
        sentOfFirst = 0
        queuedBytes = 0
        watchOutput(false)
    }

    /// Ends both directions at once; the descriptor closes when Dispatch has let go of it.
    func close() {
        readSource?.cancel()
        writeSource?.cancel()
        UnixSocket.shutDown(descriptor.raw)
        discardOutput()
        arrivals = []
    }

    private func forgetSent() {
        if firstOutgoing == outgoing.count {
            outgoing.removeAll(keepingCapacity: false)
        } else if firstOutgoing > outgoing.count / 2 {
            outgoing.removeSubrange(..<firstOutgoing)
        } else {
            return
        }
        firstOutgoing = 0
    }

    private func watchOutput(_ wanted: Bool) {
        guard wanted != wantsOutput else { return }
        wantsOutput = wanted
        if wanted { writeSource?.resume() } else { writeSource?.suspend() }
    }
}
