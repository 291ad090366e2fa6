import CShims

/// The header before each packet of a TUN device with IFF_VNET_HDR: what is left to do with the packet.
///
/// Source: linux/virtio_net.h, `struct virtio_net_hdr`: 10 bytes, numbers in the machine's order.
package struct VirtioHeader: Equatable, Sendable {
    package static let size = 10

    /// What kind of super-packet follows (`VIRTIO_NET_HDR_GSO_*`, without the ECN bit).
    package struct Kind: Equatable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let none = Kind(rawValue: UInt8(VIRTIO_NET_HDR_GSO_NONE))
        package static let tcp4 = Kind(rawValue: UInt8(VIRTIO_NET_HDR_GSO_TCPV4))
        package static let tcp6 = Kind(rawValue: UInt8(VIRTIO_NET_HDR_GSO_TCPV6))
        /// Linux 6.2 and later.
        package static let udp = Kind(rawValue: UInt8(VIRTIO_NET_HDR_GSO_UDP_L4))
    }

    /// The checksum field holds the pseudo-header's sum, and the rest is to be added.
    package var needsChecksum = false
    package var kind = Kind.none
    /// IP and transport header; what the kernel writes here isn't reliable.
    package var headerLength: UInt16 = 0
    /// Payload of each segment but the last; 0 unless a super-packet.
    package var segmentSize: UInt16 = 0
    /// Where the checksummed part begins: the length of the IP header.
    package var checksumStart: UInt16 = 0
    /// Where in that part the checksum stands: 16 for TCP, 6 for UDP.
    package var checksumOffset: UInt16 = 0

    package init() {}

    /// Reads the 10 bytes at `memory`.
    package init(reading memory: UnsafeRawPointer) {
        let flags = unsafe memory.load(as: UInt8.self)
        needsChecksum = flags & UInt8(VIRTIO_NET_HDR_F_NEEDS_CSUM) != 0
        let type = unsafe memory.load(fromByteOffset: 1, as: UInt8.self)
        kind = Kind(rawValue: type & ~UInt8(VIRTIO_NET_HDR_GSO_ECN))
        headerLength = unsafe memory.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
        segmentSize = unsafe memory.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
        checksumStart = unsafe memory.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
        checksumOffset = unsafe memory.loadUnaligned(fromByteOffset: 8, as: UInt16.self)
    }

    /// Writes the 10 bytes to `memory`.
    package func store(to memory: UnsafeMutableRawPointer) {
        unsafe memory.storeBytes(of: needsChecksum ? UInt8(VIRTIO_NET_HDR_F_NEEDS_CSUM) : 0, as: UInt8.self)
        unsafe memory.storeBytes(of: kind.rawValue, toByteOffset: 1, as: UInt8.self)
        unsafe memory.storeBytes(of: headerLength, toByteOffset: 2, as: UInt16.self)
        unsafe memory.storeBytes(of: segmentSize, toByteOffset: 4, as: UInt16.self)
        unsafe memory.storeBytes(of: checksumStart, toByteOffset: 6, as: UInt16.self)
        unsafe memory.storeBytes(of: checksumOffset, toByteOffset: 8, as: UInt16.self)
    }
}
