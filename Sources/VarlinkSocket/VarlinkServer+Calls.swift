import LinuxSystem
import VarlinkCore

extension VarlinkServer {
    func readable(_ identifier: UInt64) {
        guard let connection = connections[identifier] else { return }
        // Bounded, so that one client's flood doesn't keep the queue from the others.
        for _ in 0..<4 where connections[identifier] != nil && connection.stream.isReading {
            do {
                switch try unsafe buffer.withUnsafeMutableBytes({ try unsafe connection.stream.fill(by: $0) }) {
                case .nothing: return
                case .end: connection.inputEnded = true
                case .bytes: break
                }
            } catch let error as MessageError {
                connection.inputEnded = true
                connection.inputFault = error
            } catch {
                connection.inputEnded = true
                lose(connection)
            }
            if connection.inputEnded, connection.stream.isHungUp { lose(connection) }
            advance(identifier, connection)
        }
    }

    func writable(_ identifier: UInt64) {
        guard let connection = connections[identifier] else { return }
        flush(connection)
        advance(identifier, connection)
    }

    func take(_ event: ReplyOutlet.Event, from identifier: UInt64) {
        guard let connection = connections[identifier] else { return }
        switch event {
        case .overflow: drop(identifier, "The client doesn't read: more than \(limits.outputBytes) bytes wait for it.")
        case .delivery(let delivery):
            if let message = delivery.message {
                connection.stream.enqueue(message, delivery.descriptors)
                flush(connection)
            }
            if delivery.isLast {
                connection.phase = .idle
                connection.streamTask = nil
                connection.outlet.forgetCloseHandlers()
            }
            advance(identifier, connection)
        }
    }

    /// Begins the calls that can be begun, then decides whether to read on or to close.
    private func advance(_ identifier: UInt64, _ connection: ServerConnection) {
        while connection.phase == .idle, connection.stream.queuedBytes <= limits.pauseAtOutputBytes {
            do throws(MessageError) {
                if let message = try connection.stream.next() {
                    begin(message, on: connection)
                } else if connection.inputEnded {
                    finish(connection)
                } else {
                    break
                }
            } catch {
                reject(error, on: connection)
                if !error.isRecoverable { connection.phase = .closing }
            }
        }
        guard settle(identifier, connection) else { return }
        if connection.phase == .closing, connection.stream.queuedBytes == 0 {
            disconnect(identifier)
        } else {
            connection.stream.isReading = wantsInput(connection)
        }
    }

    private func wantsInput(_ connection: ServerConnection) -> Bool {
        if connection.inputEnded || connection.phase == .closing { return false }
        if connection.phase == .idle, connection.stream.queuedBytes <= limits.pauseAtOutputBytes { return true }
        return connection.stream.bufferedBytes < limits.pipelinedBytes && !connection.stream.holdsDescriptors
    }

    private func begin(_ message: MessageStream.Message, on connection: ServerConnection) {
        let call: VarlinkCall
        do throws(MessageError) {
            call = try VarlinkCall(parsing: message.bytes)
        } catch {
            reject(error, on: connection)
            return
        }
        connection.phase = .answering
        let responder = Responder(call, connection.outlet)
        do {
            if let reply = try service.description.answer(call) {
                try responder.answer(reply)
                return
            }
            guard let handler = service.handler(for: call.method), !call.upgrade else {
                throw VarlinkError.methodNotImplemented(call.method)
            }
            let request = VarlinkRequest(
                call: call,
                caller: connection.caller,
                descriptors: message.descriptors,
                responder: responder
            )
            run(handler, request, connection)
        } catch {
            responder.fail(error)
        }
    }

    private func run(
        _ handler: @escaping VarlinkService.Handler,
        _ request: VarlinkRequest,
        _ connection: ServerConnection
    ) {
        let task = Task { @concurrent in
            do { try await handler(request) } catch { request.responder.fail(error) }
        }
        guard request.responder.wantsMore else { return }
        connection.streamTask = task
        if !connection.outlet.isOpen { task.cancel() }
    }

    /// Tells the client what is wrong with a message of its.
    private func reject(_ error: MessageError, on connection: ServerConnection) {
        let reply = VarlinkReply(.error(.malformedMessage(error))).encoded()
        guard connection.outlet.reserve(reply.count + 1) else {
            lose(connection)
            return
        }
        connection.stream.enqueue(reply)
        flush(connection)
    }

    /// Nothing more comes from the client, and its calls are answered.
    private func finish(_ connection: ServerConnection) {
        if let fault = connection.inputFault {
            reject(fault, on: connection)
        } else if connection.stream.bufferedBytes > 0 {
            reject(.truncated, on: connection)
        }
        connection.phase = .closing
    }

    // MARK: Output and ends

    private func flush(_ connection: ServerConnection) {
        do throws(SystemError) {
            connection.outlet.sent(try connection.stream.flush())
        } catch {
            lose(connection)
        }
    }

    /// The client is gone: nothing is sent any more, but what it had asked for before is done.
    private func lose(_ connection: ServerConnection) {
        connection.streamTask?.cancel()
        connection.outlet.close()
        connection.stream.discardOutput()
    }

    /// Brings the quota up to date; false if the client had to be dropped.
    private func settle(_ identifier: UInt64, _ connection: ServerConnection) -> Bool {
        let input = connection.stream.bufferedBytes - connection.countedInput
        let output = connection.stream.queuedBytes - connection.countedOutput
        connection.countedInput += input
        connection.countedOutput += output
        let inputFits = quota.changeInput(connection.caller.user, by: input)
        let outputFits = quota.changeOutput(connection.caller.user, by: output)
        if input > 0, !inputFits {
            let reason = "This user's connections have sent too much that is not a whole message yet."
            connection.stream.enqueue(VarlinkReply(.error(.limitExceeded(reason))).encoded())
            _ = try? connection.stream.flush()
            drop(identifier, reason)
            return false
        }
        if output > 0, !outputFits {
            drop(identifier, "This user's connections don't read what was sent to them.")
            return false
        }
        return true
    }

    private func drop(_ identifier: UInt64, _ reason: String) {
        if let connection = connections[identifier] { report(.clientDropped(connection.caller, reason: reason)) }
        disconnect(identifier)
    }

    func disconnect(_ identifier: UInt64) {
        guard let connection = connections.removeValue(forKey: identifier) else { return }
        lose(connection)
        connection.stream.close()
        let user = connection.caller.user
        _ = quota.changeInput(user, by: -connection.countedInput)
        _ = quota.changeOutput(user, by: -connection.countedOutput)
        quota.leave(user)
        resumeAccepting()
    }
}
