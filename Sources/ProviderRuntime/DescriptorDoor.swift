import Dispatch
import EventLoop
import LinuxSystem

/// The SEQPACKET socket beside the control socket: descriptors come in and go out, one a packet with its label.
///
/// Belongs to the control queue.
final class DescriptorDoor {
    typealias Process = ControllerSeat.ProcessIdentifier

    private struct Connection {
        let socket: SharedDescriptor
        let source: DescriptorSource
        let process: Process
    }

    /// A tunneld needs one; one that was killed may not be seen as gone yet.
    private static let maximumConnections = 4
    private static let longestLabel = 64

    private let listener: UnixListener
    private let allowedUser: UInt32
    private var acceptor: ConnectionAcceptor?
    private var watch: ((SharedDescriptor) -> DescriptorSource)?
    private var connections: [Connection] = []

    init(_ listener: UnixListener, allowedUser: UInt32) {
        self.listener = listener
        self.allowedUser = allowedUser
    }

    /// - Parameter readable: called on `queue`, to call `receive`.
    func open(on queue: DispatchQueue, readable: @escaping @Sendable () -> Void) throws(SystemError) {
        watch = { descriptor in
            let source = DescriptorSource(descriptor, .readable, on: queue, handler: readable)
            source.resume()
            return source
        }
        let acceptor = try ConnectionAcceptor(listener.descriptor, on: queue, handler: readable)
        acceptor.resume()
        self.acceptor = acceptor
    }

    /// Takes in who connects and what was sent.
    ///
    /// Also to be called before descriptors are looked for: they were sent before the call that names them, but on
    /// another socket, so the call may have come first.
    ///
    /// - Returns: the processes that have connected since.
    func receive(_ deliver: (String, SharedDescriptor, Process) -> Void) -> [Process] {
        let newcomers = accept()
        connections.removeAll { connection in
            guard isFinished(connection, deliver) else { return false }
            connection.source.cancel()
            return true
        }
        return newcomers.filter { process in connections.contains { $0.process == process } }
    }

    /// Sends a descriptor to every connection of a process.
    func send(_ descriptor: SharedDescriptor, label: String, to process: Process) {
        for connection in connections where connection.process == process {
            // A tunneld that is gone, or reads nothing, gets it when it attaches again.
            _ = try? unsafe DescriptorPassing.send(
                Array(label.utf8).span.bytes,
                [descriptor],
                on: connection.socket.raw
            )
        }
    }

    /// Closes the connections of all other processes.
    func keepOnly(_ process: Process) {
        connections.removeAll { connection in
            guard connection.process != process else { return false }
            connection.source.cancel()
            UnixSocket.shutDown(connection.socket.raw)
            return true
        }
    }

    func close() {
        acceptor?.cancel()
        for connection in connections { connection.source.cancel() }
        connections = []
        listener.removeFile()
    }

    private func accept() -> [Process] {
        var newcomers: [Process] = []
        while let watch, let socket = acceptor?.next() {
            guard let caller = try? PeerCredentials(of: socket.raw), caller.user == allowedUser else { continue }
            let shared = SharedDescriptor(socket)
            if connections.count == Self.maximumConnections { connections.removeFirst().source.cancel() }
            connections.append(Connection(socket: shared, source: watch(shared), process: caller.process))
            newcomers.append(caller.process)
        }
        return newcomers
    }

    /// Reads what a connection has.
    ///
    /// - Returns: whether it has ended, or broken the rules.
    private func isFinished(
        _ connection: Connection,
        _ deliver: (String, SharedDescriptor, Process) -> Void
    ) -> Bool {
        var buffer = [UInt8](repeating: 0, count: Self.longestLabel)
        for _ in 0..<DescriptorVault.limit {
            do {
                let received = try unsafe buffer.withUnsafeMutableBytes { bytes in
                    try unsafe DescriptorPassing.receive(into: bytes, on: connection.socket.raw)
                }
                guard let received else { return false }
                guard received.count > 0, !received.isCut, received.descriptors.count == 1 else { return true }
                let label = String(decoding: buffer[..<received.count], as: UTF8.self)
                deliver(label, received.descriptors[0], connection.process)
            } catch {
                return true
            }
        }
        return false
    }
}
