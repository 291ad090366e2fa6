import Glibc
import LinuxSystem
import NetworkTypes

/// What is set on sockets before others get them (socket(7)).
enum SocketOption {
    static func set(
        _ level: some BinaryInteger,
        _ option: Int32,
        _ value: Int32,
        on descriptor: Int32,
        _ name: String
    ) throws(SystemError) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe setsockopt(descriptor, Int32(level), option, &value, size) == 0 else {
            throw SystemError(errno, call: "setsockopt(\(name))")
        }
    }

    /// Sets both buffers past the system's limit, or where that isn't allowed up to it.
    static func setBuffers(_ size: Int32, on descriptor: Int32) {
        for (forced, plain) in [(SO_RCVBUFFORCE, SO_RCVBUF), (SO_SNDBUFFORCE, SO_SNDBUF)] {
            do throws(SystemError) {
                try set(SOL_SOCKET, forced, size, on: descriptor, "SO_*BUFFORCE")
            } catch {
                // The kernel takes any size here and cuts it down to its limit.
                try? set(SOL_SOCKET, plain, size, on: descriptor, "SO_*BUF")
            }
        }
    }

    /// The port that a socket is bound to.
    static func localPort(of descriptor: Int32) throws(SystemError) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let endpoint = try unsafe withUnsafeMutablePointer(to: &storage) { (pointer) throws(SystemError) in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (name) throws(SystemError) in
                try check("getsockname") { unsafe getsockname(descriptor, name, &length) }
                return unsafe Endpoint(name, length: Int(length))
            }
        }
        return endpoint?.port ?? 0
    }
}
