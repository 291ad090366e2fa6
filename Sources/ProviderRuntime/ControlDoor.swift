import Dispatch
import EventLoop
import LinuxSystem
import VarlinkSocket

/// The provider's control socket: lets the controller's user in, and throws out whom a newer controller replaced.
///
/// Belongs to the control queue.
final class ControlDoor {
    typealias Process = ControllerSeat.ProcessIdentifier

    private struct Connection {
        let process: Process
        /// Nil once the server has let go of it.
        weak var socket: SharedDescriptor?
    }

    private let listener: UnixListener
    private let allowedUser: UInt32
    private let server: VarlinkServer
    private var acceptor: ConnectionAcceptor?
    private var connections: [Connection] = []

    init(_ listener: UnixListener, allowedUser: UInt32, server: VarlinkServer) {
        self.listener = listener
        self.allowedUser = allowedUser
        self.server = server
    }

    /// - Parameter readable: called on `queue`, to call `accept`.
    func open(on queue: DispatchQueue, readable: @escaping @Sendable () -> Void) throws(SystemError) {
        let acceptor = try ConnectionAcceptor(listener.descriptor, on: queue, handler: readable)
        acceptor.resume()
        self.acceptor = acceptor
    }

    /// Serves who waits; another user's connection is closed unheard.
    func accept() {
        connections.removeAll { $0.socket == nil }
        while let socket = acceptor?.next() {
            guard let caller = try? PeerCredentials(of: socket.raw), caller.user == allowedUser else { continue }
            let shared = SharedDescriptor(socket)
            connections.append(Connection(process: caller.process, socket: shared))
            Task { [server] in await server.serve(shared) }
        }
    }

    /// Closes the connections of all other processes.
    func keepOnly(_ process: Process) {
        for connection in connections where connection.process != process {
            if let socket = connection.socket { UnixSocket.shutDown(socket.raw) }
        }
        connections.removeAll { $0.process != process || $0.socket == nil }
    }

    func close() {
        acceptor?.cancel()
        listener.removeFile()
    }
}
