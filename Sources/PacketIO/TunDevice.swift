import CShims
import Glibc
package import LinuxSystem

/// An attached TUN device: packets in and out, one a call, with the offloads that the kernel has.
package final class TunDevice {
    /// What the kernel may leave to us in the packets that it hands over.
    package struct Offloads: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let checksum = Offloads(rawValue: UInt32(TUN_F_CSUM))
        package static let tcp = Offloads(rawValue: UInt32(TUN_F_TSO4 | TUN_F_TSO6))
        /// Linux 6.2 and later; a kernel that has it also takes UDP super-packets.
        package static let udp = Offloads(rawValue: UInt32(TUN_F_USO4 | TUN_F_USO6))
    }

    /// The result of a reading or writing.
    package enum Outcome: Equatable {
        /// Bytes moved, the virtio-net header included.
        case moved(Int)
        /// Nothing to read now.
        case empty
        /// The interface is down: packets are lost, but it may come up again.
        case down
        /// The interface has been deleted; the descriptor stays useless, and readable without end.
        case deleted
        /// Any other errno.
        case failed(Int32)
    }

    /// The longest that a reading may give.
    package static let longestRead = VirtioHeader.size + 65535

    package let descriptor: SharedDescriptor
    package let name: String
    /// Bytes before each packet: those of `VirtioHeader`, or 0.
    package let headerLength: Int
    package private(set) var offloads: Offloads
    private let calls: TunCalls

    /// Attaches to the interface `name`, which exists and belongs to this user.
    ///
    /// - Parameter node: an opened, not yet attached `/dev/net/tun`; nil: it is opened here.
    /// - Throws: EPERM where the interface belongs to somebody else, EBUSY where another descriptor is attached.
    package static func attach(_ name: String, through node: consuming OwnedDescriptor?) throws(SystemError)
        -> TunDevice
    {
        let descriptor: OwnedDescriptor
        if let node {
            descriptor = node
        } else {
            descriptor = OwnedDescriptor(adopting: try checkShim("open(/dev/net/tun)") { shim_tun_open() })
        }
        let raw = descriptor.raw
        try checkShim("ioctl(TUNSETIFF)") { unsafe shim_tun_attach(raw, name, IFF_TUN | IFF_NO_PI | IFF_VNET_HDR) }
        return try TunDevice(adopting: SharedDescriptor(descriptor))
    }

    /// Takes a descriptor that is attached already, by this process or by one before it.
    ///
    /// - Throws: EBADFD where the interface is gone; EINVAL where it isn't a TUN device without packet information.
    package convenience init(adopting descriptor: SharedDescriptor) throws(SystemError) {
        let raw = descriptor.raw
        var name = [CChar](repeating: 0, count: Int(IFNAMSIZ))
        var flags: Int32 = 0
        try checkShim("ioctl(TUNGETIFF)") { unsafe shim_tun_interface(raw, &name, &flags) }
        guard flags & IFF_TUN != 0, flags & IFF_NO_PI != 0 else { throw SystemError(EINVAL, in: "ioctl(TUNGETIFF)") }
        let status = try check("fcntl(F_GETFL)") { fcntl(raw, F_GETFL) }
        try check("fcntl(F_SETFL)") { fcntl(raw, F_SETFL, status | O_NONBLOCK) }
        let hasHeader = flags & IFF_VNET_HDR != 0
        self.init(
            descriptor: descriptor,
            name: String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self),
            headerLength: hasHeader ? VirtioHeader.size : 0,
            offloads: hasHeader ? setOffloads(raw, [.checksum, .tcp, .udp]) : [],
            calls: .kernel
        )
    }

    /// Takes anything that gives and takes a packet a call, such as a socket pair in a test.
    package init(
        descriptor: SharedDescriptor,
        name: String,
        headerLength: Int,
        offloads: Offloads,
        calls: TunCalls = .kernel
    ) {
        self.descriptor = descriptor
        self.name = name
        self.headerLength = headerLength
        self.offloads = offloads
        self.calls = calls
    }

    /// Has the kernel leave us this much of its work from now on, as far as it can.
    package func negotiate(_ wanted: Offloads) {
        if headerLength > 0 { offloads = setOffloads(descriptor.raw, wanted) }
    }

    /// Reads one packet, with its header, into at least `longestRead` bytes (what doesn't fit would be lost).
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        guard let base = buffer.baseAddress, buffer.count >= TunDevice.longestRead else { return .failed(EINVAL) }
        return outcome(unsafe calls.read(descriptor.raw, base, buffer.count))
    }

    /// Writes one packet, with its header, from its parts.
    func write(_ parts: UnsafeBufferPointer<shim_part>) -> Outcome {
        guard let base = parts.baseAddress else { return .failed(EINVAL) }
        return outcome(unsafe calls.write(descriptor.raw, base, Int32(truncatingIfNeeded: parts.count)))
    }

    private func outcome(_ result: Int) -> Outcome {
        switch result {
        case 0...: .moved(result)
        case -Int(EAGAIN), -Int(EINTR): .empty
        case -Int(EIO): .down
        case -Int(EBADFD): .deleted
        default: .failed(Int32(truncatingIfNeeded: -result))
        }
    }
}

/// Sets the most of the offloads wanted that the kernel takes.
///
/// UDP's are tried with TCP's first (an older kernel refuses all then); none at all is fine too: the packets just come
/// whole.
private func setOffloads(_ descriptor: Int32, _ wanted: TunDevice.Offloads) -> TunDevice.Offloads {
    for offloads in [wanted, wanted.subtracting(.udp)]
    where !offloads.isEmpty && shim_tun_set_offload(descriptor, offloads.rawValue) == 0 {
        return offloads
    }
    _ = shim_tun_set_offload(descriptor, 0)
    return []
}
