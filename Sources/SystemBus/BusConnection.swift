import Glibc
import LinuxSystem
import NetworkTypes

/// A connection to a bus, for one call; every wait ends at the deadline.
struct BusConnection: ~Copyable {
    private static let bus = "org.freedesktop.DBus"

    private let socket: OwnedDescriptor
    private let deadline: Instant

    private init(_ socket: consuming OwnedDescriptor, deadline: Instant) {
        self.socket = socket
        self.deadline = deadline
    }

    /// Connects and says who we are.
    ///
    /// - Parameter address: "unix:path=…"; of several, with semicolons between, the first that can be reached.
    static func open(_ address: String, deadline: Instant) throws(BusError) -> BusConnection {
        let connection = BusConnection(try connect(to: address), deadline: deadline)
        // Source: D-Bus Specification, "Authentication Protocol"; the user id is what the kernel says it is.
        let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
        try connection.write([0] + Array("AUTH EXTERNAL \(user)\r\n".utf8))
        guard try connection.line().hasPrefix("OK ") else { throw .unavailable("it doesn't accept user \(geteuid())") }
        try connection.write(Array("BEGIN\r\n".utf8))
        return connection
    }

    /// Makes a call and waits for its reply.
    ///
    /// - Throws: `refused` where it is an error.
    func call(_ message: BusMessage) throws(BusError) -> BusMessage {
        // Nothing is answered before the bus has given us a name.
        _ = try exchange(.call("Hello", on: Self.bus, of: Self.bus, at: "/org/freedesktop/DBus"), serial: 1)
        return try exchange(message, serial: 2)
    }

    private func exchange(_ message: BusMessage, serial: UInt32) throws(BusError) -> BusMessage {
        var message = message
        message.serial = serial
        try write(message.encoded)
        while true {
            let reply = try read()
            guard reply.replySerial == serial else { continue }
            if reply.kind == .reply { return reply }
            guard reply.kind == .error else { continue }
            var reader = BusReader(reply.body, isBigEndian: reply.isBigEndian)
            let text = reply.signature.hasPrefix("s") ? try? reader.string() : nil
            throw .refused(name: reply.errorName ?? "", message: text ?? "")
        }
    }

    private func read() throws(BusError) -> BusMessage {
        var bytes = try bytes(BusMessage.fixedBytes)
        guard let size = try? BusMessage.size(ofHeader: bytes), size <= BusMessage.sizeLimit, size >= bytes.count else {
            throw .malformed
        }
        bytes += try self.bytes(size - bytes.count)
        guard let message = try? BusMessage(parsing: bytes) else { throw .malformed }
        return message
    }

    // MARK: Bytes

    private static func connect(to address: String) throws(BusError) -> OwnedDescriptor {
        var reason = "its address \(address.prefix(128)) isn't one of a Unix socket"
        for one in address.split(separator: ";") {
            guard let path = path(in: String(one)) else { continue }
            do throws(SystemError) {
                return try UnixSocket.connect(.stream, to: UnixSocketAddress(path))
            } catch {
                reason = "\(path): \(error)"
            }
        }
        throw .unavailable(reason)
    }

    private static func path(in address: String) -> String? {
        guard address.hasPrefix("unix:") else { return nil }
        let pairs = address.dropFirst("unix:".count).split(separator: ",")
        return pairs.first { $0.hasPrefix("path=") }.map { String($0.dropFirst("path=".count)) }
    }

    private func write(_ bytes: [UInt8]) throws(BusError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(socket.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try wait(for: POLLOUT)
            } else if errno != EINTR {
                throw .unavailable("\(SystemError(errno, in: "send"))")
            }
        }
    }

    private func bytes(_ count: Int) throws(BusError) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let part = unsafe result.withUnsafeMutableBytes {
                unsafe recv(socket.raw, $0.baseAddress?.advanced(by: done), count - done, 0)
            }
            if part > 0 {
                done += part
            } else if part == 0 {
                throw .unavailable("it closed the connection")
            } else if errno == EAGAIN {
                try wait(for: POLLIN)
            } else if errno != EINTR {
                throw .unavailable("\(SystemError(errno, in: "recv"))")
            }
        }
        return result
    }

    /// A line of the authentication, without its end.
    private func line() throws(BusError) -> String {
        var line: [UInt8] = []
        while line.count < 1024 {
            let byte = try bytes(1)[0]
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        throw .malformed
    }

    private func wait(for event: Int32) throws(BusError) {
        let now = Instant.now()
        guard now < deadline else { throw .timedOut }
        var request = pollfd(fd: socket.raw, events: Int16(event), revents: 0)
        let milliseconds = min(Int32.max, Int32((deadline - now).inSeconds * 1000) + 1)
        guard unsafe poll(&request, 1, milliseconds) != 0 else { throw .timedOut }
    }
}
