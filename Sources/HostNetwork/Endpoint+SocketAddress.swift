import Glibc
import NetworkTypes

extension Endpoint {
    /// Reads what a C function points to; nil for a family that isn't IP or an address cut short.
    init?(_ pointer: UnsafePointer<sockaddr>, length: Int) {
        let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: max(0, length))
        guard bytes.count >= MemoryLayout<sa_family_t>.size else { return nil }
        switch unsafe Int32(bytes.loadUnaligned(as: sa_family_t.self)) {
        case AF_INET where bytes.count >= MemoryLayout<sockaddr_in>.size:
            let name = unsafe bytes.loadUnaligned(as: sockaddr_in.self)
            self.init(.v4(IPv4Address(UInt32(bigEndian: name.sin_addr.s_addr))), port: UInt16(bigEndian: name.sin_port))
        case AF_INET6 where bytes.count >= MemoryLayout<sockaddr_in6>.size:
            let name = unsafe bytes.loadUnaligned(as: sockaddr_in6.self)
            let address = unsafe withUnsafeBytes(of: name.sin6_addr) { unsafe IPv6Address(bytes: $0) }
            guard let address else { return nil }
            self.init(.v6(address), port: UInt16(bigEndian: name.sin6_port), zone: name.sin6_scope_id)
        default:
            return nil
        }
    }

    /// Lends the address as the C functions take it.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        switch address {
        case .v4(let v4):
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = port.bigEndian
            name.sin_addr.s_addr = v4.value.bigEndian
            return unsafe withUnsafeBytes(of: &name) { unsafe body($0.socketAddress, socklen_t($0.count)) }
        case .v6(let v6):
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = port.bigEndian
            name.sin6_scope_id = zone
            unsafe withUnsafeMutableBytes(of: &name.sin6_addr) { unsafe $0.copyBytes(from: v6.bytes) }
            return unsafe withUnsafeBytes(of: &name) { unsafe body($0.socketAddress, socklen_t($0.count)) }
        }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var socketAddress: UnsafePointer<sockaddr> {
        // A struct has at least one byte, so its buffer has an address.
        guard let start = baseAddress else { preconditionFailure("an empty socket address") }
        return unsafe start.assumingMemoryBound(to: sockaddr.self)
    }
}
