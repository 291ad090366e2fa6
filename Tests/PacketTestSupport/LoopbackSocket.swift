import Glibc
package import LinuxSystem

/// A bound, nonblocking UDP socket on the loopback address, with room for a test's bursts.
package func loopbackSocket(isIPv6: Bool = false) throws -> SharedDescriptor {
    let raw = try check("socket") {
        socket(
            isIPv6 ? AF_INET6 : AF_INET,
            Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
            0
        )
    }
    let descriptor = SharedDescriptor(OwnedDescriptor(adopting: raw))
    var size: Int32 = 8 << 20
    try check("setsockopt") { unsafe setsockopt(raw, SOL_SOCKET, SO_RCVBUFFORCE, &size, 4) }
    var v4 = sockaddr_in()
    v4.sin_family = sa_family_t(AF_INET)
    v4.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var v6 = sockaddr_in6()
    v6.sin6_family = sa_family_t(AF_INET6)
    v6.sin6_addr = in6addr_loopback
    let bound = isIPv6 ? bindAny(raw, &v6) : bindAny(raw, &v4)
    try check("bind") { bound }
    return descriptor
}

private func bindAny<Address>(_ raw: Int32, _ address: inout Address) -> Int32 {
    unsafe withUnsafeBytes(of: &address) { bytes in
        guard let base = bytes.baseAddress else { return -1 }
        return unsafe bind(raw, base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
}
