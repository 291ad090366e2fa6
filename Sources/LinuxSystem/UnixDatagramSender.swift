import CShims
import Glibc

/// Sends datagrams to a service's Unix socket.
package final class UnixDatagramSender: Sendable {
    private let socket: SharedDescriptor
    private let path: String

    /// - Parameters:
    ///   - path: where the service listens; with a leading `@`, a name in the abstract namespace (unix(7)).
    ///   - patienceMilliseconds: how long a send may wait while the service's queue is full; 0 doesn't wait.
    package init(to path: String, patienceMilliseconds: Int) throws(SystemError) {
        let blocking = patienceMilliseconds > 0 ? 0 : Int32(SOCK_NONBLOCK.rawValue)
        let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue) | blocking
        socket = SharedDescriptor(OwnedDescriptor(adopting: try check("socket") { Glibc.socket(AF_UNIX, kind, 0) }))
        self.path = path
        guard patienceMilliseconds > 0 else { return }
        let raw = socket.raw
        var limit = timeval(tv_sec: patienceMilliseconds / 1000, tv_usec: patienceMilliseconds % 1000 * 1000)
        try check("setsockopt(SO_SNDTIMEO)") {
            unsafe setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// - Throws: EAGAIN while the service's queue is full; ENOENT or ECONNREFUSED when there is no service; EMSGSIZE.
    package func send(_ datagram: [UInt8]) throws(SystemError) {
        let raw = socket.raw
        let path = path
        _ = try checkShim("sendto") {
            unsafe datagram.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return -EINVAL }
                return Int32(clamping: unsafe shim_unix_send_to(raw, path, base, bytes.count))
            }
        }
    }
}
