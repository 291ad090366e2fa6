import Dispatch
import Glibc
import LinuxSystem
import Synchronization
import TestSupport

/// A client that sends any bytes, and waits on threads of its own.
final class RawClient: Sendable {
    let descriptor: SharedDescriptor
    private let unread = Mutex<[UInt8]>([])
    private let sending = DispatchQueue(label: "raw-client-sending")
    private let receiving = DispatchQueue(label: "raw-client-receiving")

    init(_ path: String) throws {
        let socket = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
        let raw = socket.raw
        try check("fcntl") { fcntl(raw, F_SETFL, 0) }
        var limit = timeval(tv_sec: Int(patienceMilliseconds) / 1000, tv_usec: 0)
        try check("setsockopt") {
            unsafe setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        descriptor = SharedDescriptor(socket)
    }

    /// Sends bytes.
    ///
    /// - Returns: how many went before the service closed the connection, or all.
    @discardableResult
    func send(_ bytes: [UInt8]) async -> Int {
        await wait(on: sending) { [descriptor] in
            var sent = 0
            while sent < bytes.count {
                let count = unsafe bytes[sent...].withUnsafeBytes {
                    unsafe Glibc.send(descriptor.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count < 0 { break }
                sent += count
            }
            return sent
        }
    }

    /// Sends a message with its NUL.
    func send(_ text: String) async { await send(Array(text.utf8) + [0]) }

    /// No more will be sent.
    func endOutput() { shutdown(descriptor.raw, Int32(SHUT_WR)) }

    /// The next message; nil at the end or after a minute.
    func receive() async -> String? {
        await wait(on: receiving) { [self] in
            unread.withLock { unread in
                var chunk = [UInt8](repeating: 0, count: 4096)
                while true {
                    if let end = unread.firstIndex(of: 0) {
                        defer { unread.removeSubrange(...end) }
                        return String(decoding: unread[..<end], as: UTF8.self)
                    }
                    let count = unsafe recv(descriptor.raw, &chunk, chunk.count, 0)
                    if count <= 0 { return nil }
                    unread += chunk[..<count]
                }
            }
        }
    }

    /// Whether the service has closed the connection, at the latest after a minute.
    func isAtEnd() async -> Bool {
        await wait(on: receiving) { [descriptor] in
            var byte: UInt8 = 0
            let count = unsafe recv(descriptor.raw, &byte, 1, 0)
            // ECONNRESET: it closed without having read all.
            return count == 0 || count < 0 && errno == ECONNRESET
        }
    }

    private func wait<Result: Sendable>(
        on queue: DispatchQueue,
        for body: @escaping @Sendable () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
    }
}
