import CAres
import Glibc
import LinuxSystem
import NetworkTypes

/// The sockets of a c-ares channel: close-on-exec from birth, non-blocking and marked before the first packet.
///
/// c-ares 1.18 knows no zones, and many a router is a name server by its link-local address alone. So each server with a
/// zone has a name here, an address of RFC 6666's prefix, which nobody has: c-ares knows it by that, and the socket is
/// connected to the server itself.
final class ResolverSockets: Sendable {
    private let mark: UInt32
    private let zoned: [Endpoint]
    /// The servers, by the addresses that c-ares is to be told.
    let namedServers: [Endpoint]

    init(mark: UInt32, servers: [Endpoint]) {
        self.mark = mark
        let zoned = servers.filter { $0.zone != 0 }
        self.zoned = zoned
        namedServers = servers.map { server in
            zoned.firstIndex(of: server).map { Endpoint(Self.name($0), port: server.port) } ?? server
        }
    }

    /// 100::1 and so on.
    private static func name(_ index: Int) -> IPAddress {
        .v6(IPv6Address(high: 0x0100 << 48, low: UInt64(index) + 1))
    }

    /// The server behind a name.
    func server(named name: Endpoint) -> Endpoint {
        zoned.indices.first { Self.name($0) == name.address }.map { zoned[$0] } ?? name
    }

    /// The name of a server.
    func name(of server: Endpoint) -> Endpoint {
        zoned.firstIndex(of: server).map { Endpoint(Self.name($0), port: server.port) } ?? server
    }

    private func open(_ family: Int32, _ type: Int32, _ number: Int32) -> Int32 {
        let descriptor = socket(family, type | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), number)
        guard descriptor >= 0, mark != 0 else { return descriptor }
        do throws(SystemError) {
            try SocketOption.set(SOL_SOCKET, SO_MARK, Int32(bitPattern: mark), on: descriptor, "SO_MARK")
            return descriptor
        } catch {
            // Without its mark a query would go into the tunnel.
            close(descriptor)
            errno = error.code
            return -1
        }
    }

    /// c-ares keeps the pointer; it lives as long as the process.
    nonisolated(unsafe) static let functions: UnsafePointer<ares_socket_functions> = {
        let place = UnsafeMutablePointer<ares_socket_functions>.allocate(capacity: 1)
        unsafe place.initialize(
            to: ares_socket_functions(
                asocket: { family, type, number, own in unsafe of(own).open(family, type, number) },
                aclose: { descriptor, _ in close(descriptor) },
                aconnect: { descriptor, name, length, own in
                    guard let name = unsafe name, let named = unsafe Endpoint(name, length: Int(length)) else {
                        errno = EINVAL
                        return -1
                    }
                    return unsafe of(own).server(named: named).withSocketAddress { name, length in
                        unsafe connect(descriptor, name, length)
                    }
                },
                arecvfrom: { descriptor, buffer, size, flags, name, length, own in
                    let count = unsafe recvfrom(descriptor, buffer, size, flags, name, length)
                    // c-ares compares the sender with the address that it knows.
                    guard count >= 0, let name = unsafe name, let length = unsafe length,
                        let sender = unsafe Endpoint(name, length: Int(length.pointee)), sender.zone != 0
                    else { return count }
                    let room = unsafe length.pointee
                    unsafe of(own).name(of: sender).withSocketAddress { named, size in
                        _ = unsafe memcpy(name, named, Int(min(size, room)))
                    }
                    return count
                },
                asendv: { descriptor, parts, count, _ in unsafe writev(descriptor, parts, count) }
            )
        )
        return unsafe UnsafePointer(place)
    }()

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> ResolverSockets {
        guard let pointer = unsafe pointer else { preconditionFailure("c-ares calls with what it was given") }
        return unsafe Unmanaged<ResolverSockets>.fromOpaque(pointer).takeUnretainedValue()
    }
}
