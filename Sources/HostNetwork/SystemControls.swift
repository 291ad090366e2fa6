import Glibc
package import LinuxSystem

/// The kernel's settings under /proc/sys.
package protocol SystemControls: Sendable {
    /// The value of "net/ipv4/conf/all/rp_filter" without its newline; nil if there is no such setting.
    func read(_ path: String) -> String?
    func write(_ value: String, to path: String) throws(SystemError)
    /// The names in a folder of settings; none if there is no such folder.
    func list(_ path: String) -> [String]
}

/// The settings of the network namespace of the thread that asks.
package struct ProcSystemControls: SystemControls {
    private let root: String

    package init(root: String = "/proc/sys") { self.root = root }

    package func read(_ path: String) -> String? {
        guard let bytes = try? FileSystem.contents(ofFile: "\(root)/\(path)", limit: 4096) else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    package func write(_ value: String, to path: String) throws(SystemError) {
        let whole = "\(root)/\(path)"
        try FaultPoint.reach("sysctl \(path)")
        let descriptor = OwnedDescriptor(
            adopting: try check("open(sysctl)") { unsafe open(whole, O_WRONLY | O_CLOEXEC) }
        )
        let raw = descriptor.raw
        let bytes = Array(value.utf8)
        try check("write(sysctl)") {
            unsafe bytes.withUnsafeBytes { unsafe Glibc.write(raw, $0.baseAddress, $0.count) }
        }
    }

    package func list(_ path: String) -> [String] {
        (try? FileSystem.names(inFolder: "\(root)/\(path)").sorted()) ?? []
    }
}

extension SystemControls {
    /// Whether IPv6 can be used on an interface, and if not, why.
    func ipv6State(of interface: String) -> IPv6State {
        guard let everywhere = read("net/ipv6/conf/all/disable_ipv6") else {
            // Where /proc/sys can't be read at all, the kernel has the last word.
            return read("net/ipv4/conf/all/rp_filter") == nil ? .usable : .notInKernel
        }
        if everywhere == "1" { return .disabled }
        return read("net/ipv6/conf/\(interface)/disable_ipv6") == "1" ? .disabledOnLink : .usable
    }

    /// Whether some link other than `interface` drops IPv4 packets whose sender is routed elsewhere (RFC 3704, strict).
    ///
    /// The higher of the values for all and for the link counts (Documentation/networking/ip-sysctl.rst).
    func hasStrictReversePathFilter(besides interface: String) -> Bool {
        let all = read("net/ipv4/conf/all/rp_filter").flatMap { Int($0) } ?? 0
        return list("net/ipv4/conf").contains { name in
            guard name != "all", name != "lo", name != interface else { return false }
            return max(all, read("net/ipv4/conf/\(name)/rp_filter").flatMap { Int($0) } ?? 0) == 1
        }
    }
}

enum IPv6State: Hashable, Sendable {
    case usable
    /// Only on this link; since it is ours, it may be switched on there.
    case disabledOnLink
    case disabled
    case notInKernel
}
