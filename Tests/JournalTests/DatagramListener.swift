import Glibc
import LinuxSystem
import TestSupport

/// Stands in for journald and systemd: a datagram socket.
final class DatagramListener {
    /// As a client names it.
    let path: String
    private let socket: SharedDescriptor

    init(abstractName: String? = nil) throws {
        let raw = try check("socket") { Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0) }
        socket = SharedDescriptor(OwnedDescriptor(adopting: raw))
        path = abstractName.map { "@" + $0 } ?? "/tmp/tunneld-test-\(getpid())-\(raw)"
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array((abstractName.map { "\0" + $0 } ?? path).utf8)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        try check("bind") {
            unsafe withUnsafePointer(to: &address) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(raw, $0, length) }
            }
        }
    }

    deinit { unsafe unlink(path) }

    /// The next datagram; nil if there is none within a minute.
    func receive() -> String? {
        guard waitUntilReady(socket.raw) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe recv(socket.raw, &bytes, bytes.count, 0)
        return String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
    }
}
