import EventLoop
import LinuxSystem
import NetworkTypes
import VarlinkCore

extension VarlinkConnection {
    func readable() {
        while end == nil, stream.isReading {
            do {
                switch try unsafe buffer.withUnsafeMutableBytes({ try unsafe stream.fill(by: $0) }) {
                case .nothing: return
                case .end: finish(VarlinkClientError.disconnected)
                case .bytes: try takeReplies()
                }
            } catch let error as MessageError {
                finish(VarlinkClientError.malformedReply(error))
            } catch is SystemError {
                finish(VarlinkClientError.disconnected)
            } catch {
                finish(error)
            }
        }
    }

    func flush() {
        do throws(SystemError) {
            _ = try stream.flush()
        } catch {
            // The service is gone, or has closed: what it said before that is still to be read.
            stream.discardOutput()
        }
    }

    /// - Throws: `MessageError`; `VarlinkClientError.unexpectedReply`; the error that the service closes a connection with
    ///   before it has read a call.
    private func takeReplies() throws {
        while let message = try stream.next() {
            let reply = try VarlinkReply(parsing: message.bytes)
            guard let call = pending.first else {
                if case .error(let error) = reply.body { throw error }
                throw VarlinkClientError.unexpectedReply
            }
            if !reply.continues {
                pending.removeFirst()
                answered += 1
            }
            switch call.taker {
            case .abandoned: break
            case .single(let continuation):
                guard !reply.continues else { throw VarlinkClientError.unexpectedReply }
                continuation.resume(with: reply.result(message.descriptors))
            case .stream:
                if reply.continues { pending[0].deadline = nil }
                deliver(reply.result(message.descriptors), isLast: !reply.continues, to: call.identifier)
            }
            if call.deadline != nil { setTimer() }
        }
    }

    private func deliver(_ result: Result<ReceivedReply, VarlinkError>, isLast: Bool, to identifier: UInt64) {
        guard var buffer = streams[identifier] else { return }
        buffer.isComplete = isLast
        if let waiter = buffer.waiter {
            buffer.waiter = nil
            waiter.resume(with: result.map(Optional.some).mapError { $0 })
        } else {
            buffer.append(result)
        }
        streams[identifier] = buffer
        stream.isReading = !buffer.isFull
    }

    // MARK: Streams

    func nextReply(of identifier: UInt64) async throws -> ReceivedReply? {
        if let result = streams[identifier]?.popFirst() {
            if let buffer = streams[identifier], !buffer.isFull, end == nil { stream.isReading = true }
            return try result.get()
        }
        guard let buffer = streams[identifier], !buffer.isComplete else { return nil }
        if let end { throw end }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                precondition(streams[identifier]?.waiter == nil, "A stream of replies has one consumer.")
                streams[identifier]?.waiter = continuation
            }
        } onCancel: {
            Task { await self.abandon(identifier, CancellationError()) }
        }
    }

    /// The consumer is gone.
    func endStream(_ identifier: UInt64) {
        guard let buffer = streams.removeValue(forKey: identifier), !buffer.isComplete else { return }
        finish(VarlinkClientError.disconnected)
    }

    // MARK: Ends

    /// Nobody waits for this call any more.
    func abandon(_ identifier: UInt64, _ error: any Error) {
        if let waiter = streams[identifier]?.waiter {
            streams[identifier]?.waiter = nil
            waiter.resume(throwing: error)
        }
        guard let index = pending.firstIndex(where: { $0.identifier == identifier }),
            case .single(let continuation) = pending[index].taker
        else { return }
        pending[index].taker = .abandoned
        pending[index].deadline = nil
        continuation.resume(throwing: error)
        setTimer()
    }

    /// Ends the connection; whatever waits for it learns why.
    func finish(_ reason: any Error) {
        guard end == nil else { return }
        end = reason
        stream.close()
        timer?.cancel()
        timer = nil
        for call in pending {
            if case .single(let continuation) = call.taker { continuation.resume(throwing: reason) }
        }
        pending = []
        for identifier in Array(streams.keys) {
            streams[identifier]?.waiter?.resume(throwing: reason)
            streams[identifier]?.waiter = nil
        }
        for handler in closeHandlers { handler() }
        closeHandlers = []
    }

    // MARK: Time

    /// Arms the timer for the earliest deadline; without one there is no wake-up.
    func setTimer() {
        guard let next = pending.compactMap(\.deadline).min() else {
            timer?.set(nil)
            return
        }
        if timer == nil {
            timer = try? BootTimer(on: executor.queue) { @Sendable [weak self] in
                self?.assumeIsolated { $0.expire() }
            }
        }
        // Without a descriptor for a timer there are no timeouts, and a caller must not wait for ever.
        guard let timer else { return finish(VarlinkClientError.timedOut) }
        timer.set(next)
    }

    private func expire() {
        let now = Instant.now()
        for call in pending where call.deadline.map({ $0 <= now }) == true {
            if case .stream = call.taker { return finish(VarlinkClientError.timedOut) }
            abandon(call.identifier, VarlinkClientError.timedOut)
        }
        setTimer()
    }
}

extension VarlinkReply {
    fileprivate func result(_ descriptors: [SharedDescriptor]) -> Result<ReceivedReply, VarlinkError> {
        switch body {
        case .parameters(let parameters, _): .success(ReceivedReply(parameters: parameters, descriptors: descriptors))
        case .error(let error): .failure(error)
        }
    }
}
