import Dispatch
import EventLoop
import Glibc
import LinuxSystem

/// One client of the device socket.
///
/// While an operation is being answered nothing more is read, so what a client can make us hold is one operation and one
/// answer.
final class DeviceClient {
    let user: UInt32
    /// Nothing more will come, and everything is answered; or the connection is of no use any more.
    var isFinished: Bool { isBroken || ((inputEnded || isSpoiled) && !isBusy && output.count == 0) }

    private let socket: SharedDescriptor
    private let readSource: DescriptorSource
    private let writeSource: DescriptorSource
    private var reader = OperationReader()
    private var output = WipedBuffer()
    private var isBusy = false
    private var inputEnded = false
    /// What follows can't be told apart from an operation that was too large.
    private var isSpoiled = false
    private var isBroken = false

    init(
        _ socket: SharedDescriptor,
        user: UInt32,
        on queue: DispatchQueue,
        readable: @escaping @Sendable () -> Void,
        writable: @escaping @Sendable () -> Void
    ) {
        self.socket = socket
        self.user = user
        readSource = DescriptorSource(socket, .readable, on: queue, handler: readable)
        writeSource = DescriptorSource(socket, .writable, on: queue, handler: writable)
        readSource.resume()
    }

    func read() {
        let raw = socket.raw
        do {
            try unsafe reader.fill { room throws(SystemError) in
                let count = try check("read") { unsafe Glibc.read(raw, room.baseAddress, room.count) }
                if count == 0 { inputEnded = true }
                return count
            }
        } catch {
            isBroken = error.code != EAGAIN
        }
    }

    /// The next whole operation, unless the one before is still to be answered; one that can't be read is answered here.
    func nextOperation() -> DeviceOperation? {
        while !isBusy, !isBroken, !isSpoiled, output.count == 0 {
            do throws(OperationError) {
                guard let operation = try reader.next(zone: InterfaceZone.index) else { break }
                isBusy = true
                watch()
                return operation
            } catch {
                isSpoiled = error == .tooLarge
                answer { $0.append(error.reply) }
            }
        }
        watch()
        return nil
    }

    /// Sends an answer; the client may have its next operation then.
    func answer(_ body: (inout WipedBuffer) -> Void) {
        isBusy = false
        body(&output)
        write()
    }

    func write() {
        do throws(SystemError) {
            while output.count > 0 { try output.send(on: socket.raw) }
        } catch {
            if error.code != EAGAIN { isBroken = true }
        }
        watch()
    }

    func close() {
        readSource.cancel()
        writeSource.cancel()
    }

    private func watch() {
        if isBusy || output.count > 0 || inputEnded || isSpoiled { readSource.suspend() } else { readSource.resume() }
        if output.count > 0 { writeSource.resume() } else { writeSource.suspend() }
    }
}
