import Glibc
import LinuxSystem
import VarlinkCore

/// A blocking client that sends any bytes.
final class RawClient: Sendable {
    let descriptor: SharedDescriptor

    init(_ path: String) throws {
        let socket = try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
        let raw = socket.raw
        try check("fcntl") { fcntl(raw, F_SETFL, 0) }
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        try check("setsockopt") {
            unsafe setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        descriptor = SharedDescriptor(socket)
    }

    /// How many bytes went before the service closed the connection, or all.
    @discardableResult
    func send(_ bytes: some Sequence<UInt8>) -> Int {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                unsafe Glibc.send(
                    descriptor.raw,
                    $0.baseAddress.map { unsafe $0 + sent },
                    bytes.count - sent,
                    Int32(MSG_NOSIGNAL)
                )
            }
            if count < 0 { break }
            sent += count
        }
        return sent
    }

    func send(_ text: String) { send(Array(text.utf8) + [0]) }

    /// No more will be sent.
    func endOutput() { shutdown(descriptor.raw, Int32(SHUT_WR)) }

    /// The next message; nil at the end or after ten seconds.
    func receive() -> String? {
        var message: [UInt8] = []
        var byte: UInt8 = 0
        while unsafe recv(descriptor.raw, &byte, 1, 0) == 1 {
            if byte == 0 { return String(decoding: message, as: UTF8.self) }
            message.append(byte)
        }
        return nil
    }

    /// Whether the service has closed the connection, at the latest after ten seconds.
    func isAtEnd() -> Bool {
        var byte: UInt8 = 0
        return unsafe recv(descriptor.raw, &byte, 1, 0) == 0
    }
}
