extension ICMPError {
    /// Whether an ICMP error may be sent about a packet at all, so that none breeds others or goes to many.
    ///
    /// Not about errors (where it can't be known, it is taken for one), nor fragments but the first, nor what comes from or
    /// goes to anything but one host.
    ///
    /// Source: RFC 1122, section 3.2.2; RFC 1812, section 4.3.2.7; RFC 4443, section 2.4 (e).
    ///
    /// - Parameter packet: the packet that `header` was read from.
    package static func isAllowed(about packet: UnsafeRawPointer, _ header: IPHeader) -> Bool {
        guard header.source.isOneHost, header.destination.isOneHost else { return false }
        return unsafe header.source.isIPv6 ? isAllowedIPv6(packet, header) : isAllowedIPv4(packet, header)
    }

    /// Whether routers on the way may fragment a packet: an IPv4 one without DF (RFC 791, section 3.1).
    package static func mayBeFragmented(_ packet: UnsafeRawPointer) -> Bool {
        guard unsafe packet.load(as: UInt8.self) >> 4 == 4 else { return false }
        return unsafe packet.load(fromByteOffset: 6, as: UInt8.self) & 0x40 == 0
    }

    private static func isAllowedIPv4(_ packet: UnsafeRawPointer, _ header: IPHeader) -> Bool {
        let fragment = UInt16(bigEndian: unsafe packet.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
        guard fragment & 0x1fff == 0 else { return false }
        guard header.transport == 1 else { return true }
        guard header.totalLength > header.length else { return false }
        switch unsafe packet.load(fromByteOffset: header.length, as: UInt8.self) {
        // Echo, router discovery, timestamp, information and address mask; extended echo (RFC 8335).
        case 0, 8, 9, 10, 13...18, 42, 43: return true
        default: return false
        }
    }

    private static func isAllowedIPv6(_ packet: UnsafeRawPointer, _ header: IPHeader) -> Bool {
        var next = header.transport
        var offset = header.length
        // As many extension headers as there are kinds (RFC 8200, section 4.1); more are nothing that anybody sends.
        for _ in 0..<8 {
            guard next.isExtension || next == 58 else { return true }
            guard header.totalLength >= offset &+ (next == 58 ? 1 : 8) else { return false }
            let first = unsafe packet.load(fromByteOffset: offset, as: UInt8.self)
            // The upper half of the types are no errors; a redirect counts as one.
            if next == 58 { return first >= 128 && first != 137 }
            let length = Int(unsafe packet.load(fromByteOffset: offset &+ 1, as: UInt8.self))
            switch next {
            case 44:
                let field = UInt16(bigEndian: unsafe packet.loadUnaligned(fromByteOffset: offset &+ 2, as: UInt16.self))
                guard field & 0xfff8 == 0 else { return false }
                offset &+= 8
            case 51: offset &+= (length &+ 2) &* 4
            default: offset &+= (length &+ 1) &* 8
            }
            next = first
        }
        return false
    }
}

extension UInt8 {
    /// Whether the number of a protocol is that of an extension header behind which another follows.
    fileprivate var isExtension: Bool {
        switch self {
        case 0, 43, 44, 51, 60, 135, 139, 140: true
        default: false
        }
    }
}

extension IPAddress {
    /// Whether this may be the address of one machine's interface: not unspecified, loopback, multicast or reserved.
    fileprivate var isOneHost: Bool {
        switch self {
        case .v4(let address):
            let first = address.value >> 24
            return first != 0 && first != 127 && first < 224
        case .v6(let address):
            return address.high >> 56 != 0xff && address != .any && address != .loopback
        }
    }
}
