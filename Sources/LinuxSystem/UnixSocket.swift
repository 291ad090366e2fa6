import CShims
import Glibc

/// Makes Unix sockets: close-on-exec, non-blocking.
package enum UnixSocket {
    package enum Kind: Sendable {
        case stream
        /// Keeps the bounds of messages.
        case sequencedPacket

        fileprivate var flags: Int32 {
            let kind = self == .stream ? SOCK_STREAM : SOCK_SEQPACKET
            return Int32(kind.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        }
    }

    /// A socket connected to a listener.
    ///
    /// - Throws: EAGAIN when the listener's backlog is full; ECONNREFUSED when nobody listens on the file; ENOENT when
    ///   there is no file; EACCES when the file isn't for the caller; EPROTOTYPE for the other kind.
    package static func connect(_ kind: Kind, to address: UnixSocketAddress) throws(SystemError) -> OwnedDescriptor {
        let socket = try make(kind)
        let raw = socket.raw
        try address.withShortPath { path throws(SystemError) in
            _ = try checkShim("connect") { unsafe shim_unix_connect(raw, path) }
        }
        return socket
    }

    /// Two sockets connected to each other.
    package static func pair(_ kind: Kind) throws(SystemError) -> (SharedDescriptor, SharedDescriptor) {
        var raw: (Int32, Int32) = (-1, -1)
        try check("socketpair") {
            unsafe withUnsafeMutableBytes(of: &raw) { bytes in
                unsafe socketpair(AF_UNIX, kind.flags, 0, bytes.bindMemory(to: Int32.self).baseAddress)
            }
        }
        return (SharedDescriptor(OwnedDescriptor(adopting: raw.0)), SharedDescriptor(OwnedDescriptor(adopting: raw.1)))
    }

    /// The next waiting connection; nil when there is none.
    ///
    /// - Throws: EMFILE, ENFILE, ENOBUFS, ENOMEM while resources are short; the connection goes on waiting.
    package static func accept(on listener: Int32) throws(SystemError) -> OwnedDescriptor? {
        do throws(SystemError) {
            return OwnedDescriptor(adopting: try checkShim("accept4") { shim_unix_accept(listener) })
        } catch {
            // ECONNABORTED: it went away while it waited.
            if error.code == EAGAIN || error.code == ECONNABORTED { return nil }
            throw error
        }
    }

    /// Whether the other end is closed in both directions: nobody will read what is written.
    package static func isHungUp(_ socket: Int32) -> Bool {
        var descriptor = pollfd(fd: socket, events: 0, revents: 0)
        return unsafe poll(&descriptor, 1, 0) > 0 && descriptor.revents & Int16(POLLHUP | POLLERR) != 0
    }

    /// Ends both directions: the other end sees it at once, whoever else holds the descriptor.
    package static func shutDown(_ socket: Int32) { _ = shutdown(socket, Int32(SHUT_RDWR)) }

    static func make(_ kind: Kind) throws(SystemError) -> OwnedDescriptor {
        OwnedDescriptor(adopting: try check("socket") { socket(AF_UNIX, kind.flags, 0) })
    }
}
