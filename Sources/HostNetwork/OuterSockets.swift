import Glibc
package import LinuxSystem
import NetworkTypes

/// The UDP sockets of a tunnel's outer packets: one for each family, bound to the same port.
///
/// They are bound to no address, so that one that goes away needs no new socket, and carry our mark. Their owner passes
/// them to the provider. Opening takes CAP_NET_ADMIN for the mark; without it the buffers are smaller than asked for.
package struct OuterSockets: Sendable {
    package let ipv4: SharedDescriptor
    /// Nil where the host has no IPv6; `note` says so.
    package let ipv6: SharedDescriptor?
    package let port: UInt16
    package let note: String?

    /// Seven MiB, as other implementations take: at 10 Gbit/s about 6 ms of packets.
    private static let bufferSize: Int32 = 7 << 20
    /// How many ports the kernel may propose before one is free in both families.
    private static let attempts = 64

    /// - Parameter port: 0 for any that is free in both families.
    package static func open(
        port: UInt16,
        mark: UInt32 = Ownership.outerMark
    ) throws(OuterSocketError) -> OuterSockets {
        for attempt in 1... {
            do throws(OuterSocketError) {
                return try openOnce(port: port, mark: mark)
            } catch {
                guard port == 0, error.code == .portInUse, attempt < attempts else { throw error }
            }
        }
        preconditionFailure("an endless loop ended")
    }

    private static func openOnce(port: UInt16, mark: UInt32) throws(OuterSocketError) -> OuterSockets {
        var bound = port
        let ipv4 = try openSocket(.v4(.any), port: &bound, mark: mark)
        do throws(OuterSocketError) {
            let ipv6 = try openSocket(.v6(.any), port: &bound, mark: mark)
            return OuterSockets(ipv4: ipv4, ipv6: ipv6, port: bound, note: nil)
        } catch {
            guard error.code == .familyUnavailable else { throw error }
            return OuterSockets(
                ipv4: ipv4,
                ipv6: nil,
                port: bound,
                note: "Outer packets use IPv4 only: \(error.why ?? "no IPv6 socket can be made")"
            )
        }
    }

    private static func openSocket(
        _ address: IPAddress,
        port: inout UInt16,
        mark: UInt32
    ) throws(OuterSocketError) -> SharedDescriptor {
        let wanted = port
        do throws(SystemError) {
            try FaultPoint.reach("outer socket")
            let kind = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
            let descriptor = OwnedDescriptor(
                adopting: try check("socket(UDP)") { socket(Int32(address.family), kind, Int32(IPPROTO_UDP)) }
            )
            let raw = descriptor.raw
            if address.isIPv6 { try SocketOption.set(IPPROTO_IPV6, IPV6_V6ONLY, 1, on: raw, "IPV6_V6ONLY") }
            if mark != 0 { try SocketOption.set(SOL_SOCKET, SO_MARK, Int32(bitPattern: mark), on: raw, "SO_MARK") }
            SocketOption.setBuffers(bufferSize, on: raw)
            try check("bind") {
                unsafe Endpoint(address, port: wanted).withSocketAddress { unsafe bind(raw, $0, $1) }
            }
            port = try SocketOption.localPort(of: raw)
            return SharedDescriptor(descriptor)
        } catch {
            throw OuterSocketError(error, port: wanted, isIPv6: address.isIPv6)
        }
    }
}

/// Why the outer sockets could not be opened.
package struct OuterSocketError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, Hashable, Sendable {
        case portInUse
        case noPermission
        /// The host refuses sockets of the family.
        case familyUnavailable
        case failed
    }

    package let code: Code
    package let what: String
    package let why: String?
    package let remedy: String?

    package var description: String { [what, why, remedy].compactMap(\.self).joined(separator: " ") }

    init(_ error: SystemError, port: UInt16, isIPv6: Bool) {
        let family = isIPv6 ? "IPv6" : "IPv4"
        why = "\(error)"
        switch (error.code, error.call) {
        case (EADDRINUSE, _):
            code = .portInUse
            what = "Cannot use UDP port \(port) over \(family): another program has it."
            remedy = "Find it with `ss -lunp`, or choose another ListenPort."
        case (EPERM, "setsockopt(SO_MARK)"):
            code = .noPermission
            what = "Cannot mark the outer packets."
            remedy = "Run tunneld as root or with CAP_NET_ADMIN."
        case (EACCES, "bind"):
            code = .noPermission
            what = "Cannot use UDP port \(port), which is below 1024."
            remedy = "Run tunneld as root or with CAP_NET_BIND_SERVICE, or choose a ListenPort above 1023."
        case (EAFNOSUPPORT, _), (EADDRNOTAVAIL, _), (EPROTONOSUPPORT, _), (EPERM, _), (EACCES, _):
            code = .familyUnavailable
            what = "Cannot open an \(family) socket."
            remedy = "Switch \(family) on, or let tunneld use it."
        default:
            code = .failed
            what = "Cannot open a UDP socket for the outer packets (\(family), port \(port))."
            remedy = nil
        }
    }
}
