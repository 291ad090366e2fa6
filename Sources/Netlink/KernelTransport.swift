import CMnl
import CShims
import Glibc
import LinuxSystem

/// A netlink socket of libmnl.
@safe struct KernelTransport: ~Copyable, NetlinkTransport {
    private let handle: OpaquePointer
    private var buffer: [UInt8]
    /// No datagram of the kernel's comes near it.
    private static let longest = 16 << 20

    /// - Parameters:
    ///   - protocolNumber: `NETLINK_ROUTE` and the like (netlink(7)).
    ///   - bufferSize: that of the first datagrams, larger than what the kernel makes for a dump (32 KiB,
    ///     net/netlink/af_netlink.c); it grows with what comes.
    init(_ protocolNumber: Int32 = NETLINK_ROUTE, bufferSize: Int = 65_536) throws(NetlinkError) {
        unsafe handle = try unsafe KernelTransport.open(protocolNumber)
        buffer = [UInt8](repeating: 0, count: bufferSize)
    }

    private static func open(_ protocolNumber: Int32) throws(NetlinkError) -> OpaquePointer {
        guard let handle = unsafe mnl_socket_open2(protocolNumber, Int32(SOCK_CLOEXEC.rawValue)) else {
            throw .socket(SystemError(errno, in: "socket(AF_NETLINK)"))
        }
        guard unsafe mnl_socket_bind(handle, 0, MNL_SOCKET_AUTOPID) == 0 else {
            let code = errno
            _ = unsafe mnl_socket_close(handle)
            throw .socket(SystemError(code, in: "bind(AF_NETLINK)"))
        }
        // Older kernels lack some of these; then the texts are shorter and the dumps longer, nothing else.
        for option in [NETLINK_EXT_ACK, NETLINK_CAP_ACK, NETLINK_GET_STRICT_CHK] {
            var on: Int32 = 1
            _ = unsafe mnl_socket_setsockopt(handle, option, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        // The kernel answers while the request is being sent; waiting for ever would hide a fault.
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        let descriptor = unsafe mnl_socket_get_fd(handle)
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return unsafe handle
    }

    deinit { _ = unsafe mnl_socket_close(handle) }

    mutating func send(_ datagram: [UInt8]) throws(NetlinkError) {
        do throws(SystemError) {
            try check("sendto(AF_NETLINK)") {
                unsafe datagram.withUnsafeBytes { unsafe mnl_socket_sendto(handle, $0.baseAddress, $0.count) }
            }
        } catch {
            throw .socket(error)
        }
    }

    mutating func receive() throws(NetlinkError) -> [UInt8] {
        do throws(SystemError) {
            // What is cut off is lost, so the length comes first.
            let descriptor = unsafe mnl_socket_get_fd(handle)
            let length = try check("recv(AF_NETLINK)") {
                unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_PEEK | MSG_TRUNC))
            }
            if length > buffer.count, length <= Self.longest { buffer = [UInt8](repeating: 0, count: length) }
            let count = try check("recvmsg(AF_NETLINK)") {
                unsafe buffer.withUnsafeMutableBytes { unsafe mnl_socket_recvfrom(handle, $0.baseAddress, $0.count) }
            }
            return Array(buffer[..<count])
        } catch {
            throw .socket(error)
        }
    }

    mutating func drain() {
        let descriptor = unsafe mnl_socket_get_fd(handle)
        while unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT | MSG_TRUNC)) >= 0 {}
    }
}
