import Glibc
import LinuxSystem
import Testing

@testable import HostNetwork

@Suite struct MachineFactsTests {
    @Test(arguments: [
        (ENOENT, MachineFacts.Finding.Code.tunMissing), (EACCES, .tunForbidden), (EPERM, .tunForbidden),
        (ENODEV, .tunNoDriver), (ENXIO, .tunNoDriver), (EBUSY, .tunBusy), (EIO, .tunFailed),
    ])
    func `each failure of the TUN device has a finding of its own`(
        errno: Int32,
        code: MachineFacts.Finding.Code
    ) {
        let finding = MachineFacts.tunFinding(SystemError(errno, in: "open(/dev/net/tun)"))
        #expect(finding.code == code)
        #expect(finding.why?.contains(SystemError.name(errno)) == true)
    }

    @Test func `a node that is missing or another device is told from one that works`() {
        #expect(MachineFacts.tunFinding("/dev/net/tun") == nil)
        #expect(MachineFacts.tunFinding("/dev/net/no-such-node")?.code == .tunMissing)
        #expect(MachineFacts.tunFinding("/dev/null")?.code == .tunWrongNode)
    }

    @Test func `a clock before 2025 is a finding, one without a time service a lesser one`() {
        let before = WallClockTime(seconds: 1_735_689_599, nanoseconds: 0)
        let after = WallClockTime(seconds: 1_735_689_600, nanoseconds: 0)
        #expect(MachineFacts.clockFinding(before, isSynchronized: true)?.code == .clockBehind)
        #expect(MachineFacts.clockFinding(after, isSynchronized: true) == nil)
        #expect(MachineFacts.clockFinding(after, isSynchronized: nil) == nil)
        #expect(MachineFacts.clockFinding(after, isSynchronized: false)?.code == .clockUnsynchronized)
    }

    @Test func `root in its own namespace has the capability`() {
        #expect(MachineFacts.threadHasNetworkCapability())
        #expect(MachineFacts.capabilityFinding(false)?.isFatal == true)
    }

    @Test func `IPv6 that is off or missing is a finding that isn't fatal`() {
        var controls = FakeControls()
        #expect(MachineFacts.ipv6Finding(controls) == nil)
        controls.values["net/ipv6/conf/all/disable_ipv6"] = "1"
        #expect(MachineFacts.ipv6Finding(controls)?.code == .ipv6Disabled)
        controls.values["net/ipv6/conf/all/disable_ipv6"] = nil
        #expect(MachineFacts.ipv6Finding(controls)?.code == .ipv6NotInKernel)
        #expect(MachineFacts.ipv6Finding(controls)?.isFatal == false)
    }
}

/// Settings of a pretended /proc/sys; all of IPv4 and IPv6 is on and nothing is filtered.
struct FakeControls: SystemControls {
    var values = [
        "net/ipv4/conf/all/rp_filter": "0",
        "net/ipv4/conf/eth0/rp_filter": "0",
        "net/ipv6/conf/all/disable_ipv6": "0",
    ]
    /// What a write fails with.
    var writeError: Int32? = EROFS

    func read(_ path: String) -> String? { values[path] }

    func write(_ value: String, to path: String) throws(SystemError) {
        if let writeError { throw SystemError(writeError, in: "open(sysctl)") }
    }

    func list(_ path: String) -> [String] {
        let inside = values.keys.filter { $0.hasPrefix(path + "/") }
        return Set(inside.compactMap { $0.dropFirst(path.count + 1).split(separator: "/").first.map(String.init) })
            .sorted()
    }
}
