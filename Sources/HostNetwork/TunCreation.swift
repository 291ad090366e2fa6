import CShims
import Glibc
package import LinuxSystem

/// Makes TUN devices for processes that may not make them.
///
/// The steps (design, section 1): `create` the device for a user; that user's process attaches to it (single-queue: only
/// one descriptor can be attached) and hands back a duplicate of its descriptor; `setPersistent(false, on:)` the duplicate,
/// so that the device lives as long as somebody holds it.
package enum TunCreation {
    /// Makes a persistent, single-queue TUN device with virtio-net headers, that only `owner` may attach to.
    ///
    /// Needs CAP_NET_ADMIN. The device is down and has no address.
    /// - Throws: EBUSY where an interface of this name exists, EINVAL for a name that no interface may have.
    package static func create(name: String, owner: UInt32) throws(SystemError) {
        // The kernel would number a name with "%d"; it checks all else itself (dev_valid_name).
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "%")) else {
            throw SystemError(EINVAL, in: "ioctl(TUNSETIFF)")
        }
        try FaultPoint.reach("tun create")
        let descriptor = try open()
        let raw = descriptor.raw
        // IFF_TUN_EXCL: never take over an interface that somebody else made.
        let flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL
        try checkShim("ioctl(TUNSETIFF)") { unsafe shim_tun_attach(raw, name, flags) }
        try FaultPoint.reach("tun owner")
        try checkShim("ioctl(TUNSETOWNER)") { shim_tun_set_owner(raw, owner) }
        try setPersistent(true, on: descriptor)
    }

    /// Sets whether the device that `descriptor` is attached to outlives its last descriptor.
    package static func setPersistent(_ persistent: Bool, on descriptor: borrowing OwnedDescriptor) throws(SystemError)
    {
        let raw = descriptor.raw
        try FaultPoint.reach("tun persistent \(persistent)")
        try checkShim("ioctl(TUNSETPERSIST)") { shim_tun_set_persistent(raw, persistent) }
    }

    /// An opened, not yet attached `/dev/net/tun`, for a process that may not open the node.
    package static func open() throws(SystemError) -> OwnedDescriptor {
        OwnedDescriptor(adopting: try checkShim("open(/dev/net/tun)") { shim_tun_open() })
    }
}
