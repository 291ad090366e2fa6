import CShims
import Glibc
package import LinuxSystem

/// What a machine must have for tunnels, looked at without changing anything.
package enum MachineFacts {
    /// Something that is missing or wrong, and how to mend it.
    package struct Finding: Hashable, Sendable {
        /// Stable; what scripts and tests compare.
        package enum Code: String, Hashable, Sendable {
            case tunMissing, tunForbidden, tunNoDriver, tunBusy, tunWrongNode, tunFailed
            case noNetworkCapability
            case ipv6Disabled, ipv6NotInKernel
            case clockBehind, clockUnsynchronized
        }

        package let code: Code
        /// Whether no tunnel can work with it; else some may.
        package let isFatal: Bool
        package let what: String
        package let why: String?
        package let remedy: String
    }

    /// The standard place of the TUN device's node.
    package static let tunNode = "/dev/net/tun"

    /// Looks at everything that needs no endpoint.
    ///
    /// - Parameter hasNetworkCapability: nil to ask for the calling thread; a client without privileges passes what it
    ///   knows of tunneld.
    package static func findings(
        tunNode: String = tunNode,
        controls: any SystemControls = ProcSystemControls(),
        hasNetworkCapability: Bool? = nil
    ) -> [Finding] {
        [
            tunFinding(tunNode),
            capabilityFinding(hasNetworkCapability ?? threadHasNetworkCapability()),
            ipv6Finding(controls),
            clockFinding(WallClockTime.now(), isSynchronized: isClockSynchronized()),
        ].compactMap { $0 }
    }

    /// What is wrong with the TUN node; nil where it can be opened.
    static func tunFinding(_ path: String) -> Finding? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return tunFinding(SystemError(errno, in: "stat"), path) }
        let isTun = status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == tunNumber
        guard isTun else {
            return Finding(
                code: .tunWrongNode,
                isFatal: true,
                what: "\(path) is not the TUN device.",
                why: "It must be the character device 10, 200.",
                remedy: "Put the right node there; a container gets it with --device \(path)."
            )
        }
        do throws(SystemError) {
            _ = OwnedDescriptor(adopting: try check("open") { unsafe open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK) })
            return nil
        } catch {
            return tunFinding(error, path)
        }
    }

    /// Tells why the TUN device can't be had, by the error of a call that failed.
    package static func tunFinding(_ error: SystemError, _ path: String = tunNode) -> Finding {
        let code: Finding.Code
        let what: String
        let remedy: String
        switch error.code {
        case ENOENT, ENOTDIR:
            code = .tunMissing
            what = "There is no \(path)."
            remedy = "Load the driver (modprobe tun); a container gets the node with --device \(path)."
        case EACCES, EPERM:
            code = .tunForbidden
            what = "\(path) may not be opened."
            remedy = "Run tunneld as root, and allow the device (DeviceAllow=\(path) rw, or --device for a container)."
        case ENODEV, ENXIO:
            code = .tunNoDriver
            what = "The kernel has no TUN driver behind \(path)."
            remedy = "Load it with `modprobe tun`, or use a kernel with CONFIG_TUN."
        case EBUSY:
            code = .tunBusy
            what = "The TUN interface is in use."
            remedy = "End the program that holds it (ip tuntap show), or choose another interface name."
        default:
            code = .tunFailed
            what = "\(path) can't be used."
            remedy = "See the reason."
        }
        return Finding(code: code, isFatal: true, what: what, why: error.description, remedy: remedy)
    }

    static func capabilityFinding(_ hasIt: Bool) -> Finding? {
        guard !hasIt else { return nil }
        return Finding(
            code: .noNetworkCapability,
            isFatal: true,
            what: "tunneld may not change the network.",
            why: "CAP_NET_ADMIN is missing.",
            remedy: "Run tunneld as root; a container gets the capability with --cap-add NET_ADMIN."
        )
    }

    static func ipv6Finding(_ controls: any SystemControls) -> Finding? {
        switch controls.ipv6State(of: "lo") {
        case .usable, .disabledOnLink: nil
        case .disabled:
            Finding(
                code: .ipv6Disabled,
                isFatal: false,
                what: "IPv6 is disabled; tunnels go without it.",
                why: "net.ipv6.conf.all.disable_ipv6 is 1.",
                remedy: "If a tunnel needs it: sysctl net.ipv6.conf.all.disable_ipv6=0."
            )
        case .notInKernel:
            Finding(
                code: .ipv6NotInKernel,
                isFatal: false,
                what: "The kernel has no IPv6; tunnels go without it.",
                why: "There is no /proc/sys/net/ipv6.",
                remedy: "If a tunnel needs it: boot without ipv6.disable=1."
            )
        }
    }

    /// A peer refuses handshakes with a timestamp before one that it saw, so a clock that fell back locks us out.
    ///
    /// - Parameter isSynchronized: nil where the kernel doesn't say.
    static func clockFinding(_ now: WallClockTime, isSynchronized: Bool?) -> Finding? {
        let startOf2025: Int64 = 1_735_689_600
        if now.seconds < startOf2025 {
            return Finding(
                code: .clockBehind,
                isFatal: false,
                what: "The clock is before 2025.",
                why: "Peers refuse handshakes that are older than the last one they saw.",
                remedy: "Set the clock (timedatectl set-time, or a time service)."
            )
        }
        guard isSynchronized == false else { return nil }
        return Finding(
            code: .clockUnsynchronized,
            isFatal: false,
            what: "No time service keeps the clock.",
            why: "After the clock is set back, peers refuse handshakes until it has caught up.",
            remedy: "Run a time service (systemd-timesyncd, chrony)."
        )
    }

    /// Whether the calling thread's effective capabilities have CAP_NET_ADMIN.
    package static func threadHasNetworkCapability() -> Bool {
        let path = "/proc/thread-self/status"
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: 65_536),
            let privileges = ThreadPrivileges(parsing: String(decoding: bytes, as: UTF8.self)),
            let effective = privileges.capabilities["CapEff"]
        else { return false }
        return effective & 1 << 12 != 0  // CAP_NET_ADMIN, linux/capability.h
    }

    private static func isClockSynchronized() -> Bool? {
        let answer = shim_clock_is_synchronized()
        return answer < 0 ? nil : answer == 1
    }

    /// makedev(10, 200), Documentation/admin-guide/devices.txt.
    private static let tunNumber: dev_t = 10 << 8 | 200
}
