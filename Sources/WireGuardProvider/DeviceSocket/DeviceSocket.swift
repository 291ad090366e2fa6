import Dispatch
import EventLoop
import Glibc
import LinuxSystem

/// The socket at which `wg` reads and changes the device: several clients, each with one operation at a time.
///
/// Belongs to the control queue. tunneld makes the socket, for root alone; a client may still be slow, or send anything.
final class DeviceSocket {
    enum Event: Sendable {
        case waiting
        case readable(client: Int)
        case writable(client: Int)
    }

    /// Who comes when there are so many takes the place of the one that was there longest.
    static let maximumClients = 16

    let listener: SharedDescriptor
    private let queue: DispatchQueue
    private let deliver: @Sendable (Event) -> Void
    private let acceptor: ConnectionAcceptor
    private var clients: [Int: DeviceClient] = [:]
    private var lastClient = 0
    /// Whole operations, not yet taken; at most one of each client.
    private var operations: [(operation: DeviceOperation, client: Int)] = []

    /// - Parameters:
    ///   - listener: listens already.
    ///   - deliver: called on `queue`, to call `handle` and then `next`.
    init(
        _ listener: SharedDescriptor,
        on queue: DispatchQueue,
        deliver: @escaping @Sendable (Event) -> Void
    ) throws(SystemError) {
        let raw = listener.raw
        let flags = try check("fcntl(F_GETFL)") { fcntl(raw, F_GETFL) }
        try check("fcntl(F_SETFL)") { fcntl(raw, F_SETFL, flags | O_NONBLOCK) }
        self.listener = listener
        self.queue = queue
        self.deliver = deliver
        acceptor = try ConnectionAcceptor(listener, on: queue) { @Sendable in deliver(.waiting) }
        acceptor.resume()
    }

    func handle(_ event: Event) {
        switch event {
        case .waiting: accept()
        case .readable(let number): advance(number) { $0.read() }
        case .writable(let number): advance(number) { $0.write() }
        }
    }

    /// The next operation to be answered, in the order in which they came.
    func next() -> (operation: DeviceOperation, client: Int)? { operations.isEmpty ? nil : operations.removeFirst() }

    /// Answers `get`; secrets go to user id 0 alone.
    func answer(_ client: Int, with report: DeviceReport) {
        advance(client) { client in
            client.answer { report.write(to: &$0, includesSecrets: client.user == 0) }
        }
    }

    /// Answers `set`: nil for success.
    func answer(_ client: Int, with error: OperationError?) {
        advance(client) { client in client.answer { $0.append(error?.reply ?? OperationError.success) } }
    }

    func close() {
        acceptor.cancel()
        for client in clients.values { client.close() }
        clients = [:]
    }

    private func accept() {
        while let socket = acceptor.next() {
            guard let caller = try? PeerCredentials(of: socket.raw) else { continue }
            if clients.count == Self.maximumClients, let oldest = clients.keys.min() {
                clients.removeValue(forKey: oldest)?.close()
            }
            lastClient += 1
            let number = lastClient
            let deliver = deliver
            clients[number] = DeviceClient(
                SharedDescriptor(socket),
                user: caller.user,
                on: queue,
                readable: { @Sendable in deliver(.readable(client: number)) },
                writable: { @Sendable in deliver(.writable(client: number)) }
            )
        }
    }

    /// Does something with a client, then takes its next operation if it is ready for one.
    private func advance(_ number: Int, _ body: (DeviceClient) -> Void) {
        guard let client = clients[number] else { return }
        body(client)
        if let operation = client.nextOperation() { operations.append((operation, number)) }
        if client.isFinished { clients.removeValue(forKey: number)?.close() }
    }
}
