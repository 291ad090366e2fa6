import CShims
import Testing

@testable import HostNetwork

@Suite struct LinkKindTests {
    struct Case: Sendable {
        let name: String
        let facts: LinkKind.Facts
        let kind: LinkKind

        init(_ name: String, _ kind: LinkKind, _ change: (inout LinkKind.Facts) -> Void) {
            var facts = LinkKind.Facts()
            change(&facts)
            self.name = name
            self.facts = facts
            self.kind = kind
        }
    }

    static let cases = [
        Case("lo", .loopback) { $0.isLoopback = true },
        Case("a tunnel of ours", .tunnel) {
            $0.isOwnTunnel = true
            $0.driver = "tun"
        },
        Case("a network card", .wired) { $0.hasDevice = true },
        Case("a card where sysfs can't be read", .wired) { $0.hasDevice = nil },
        Case("a Wi-Fi card", .wifi) {
            $0.hasDevice = true
            $0.isWireless = true
        },
        Case("a Wi-Fi card by its uevent alone", .wifi) { $0.deviceType = "wlan" },
        Case("a modem in Ethernet clothes", .cellular) {
            $0.deviceType = "wwan"
            $0.hasDevice = true
        },
        Case("a modem with packets only", .cellular) {
            $0.deviceType = "wwan"
            $0.hardwareType = UInt16(ARPHRD_RAWIP)
        },
        Case("a second bearer of a modem", .cellular) { $0.driver = "wwan" },
        Case("a VLAN of a card", .wired) {
            $0.driver = "vlan"
            $0.hasDevice = false
            $0.lower = [.wired]
        },
        Case("a bridge over a Wi-Fi card", .wifi) {
            $0.driver = "bridge"
            $0.hasDevice = false
            $0.lower = [.virtual, .wifi]
        },
        Case("a bridge of containers", .virtual) {
            $0.driver = "bridge"
            $0.hasDevice = false
            $0.lower = [.virtual]
        },
        Case("a tunnel through a card", .virtual) {
            $0.driver = "vxlan"
            $0.hasDevice = false
            $0.lower = [.wired]
        },
        Case("a container's end", .virtual) {
            $0.driver = "veth"
            $0.hasDevice = false
        },
        Case("another VPN", .virtual) {
            $0.driver = "wireguard"
            $0.hardwareType = UInt16(ARPHRD_NONE)
        },
        Case("a serial line", .other) {
            $0.hardwareType = UInt16(ARPHRD_PPP)
            $0.hasDevice = true
        },
    ]

    @Test(arguments: cases) func `a link is what it is made of`(_ test: Case) {
        #expect(LinkKind(test.facts) == test.kind, "\(test.name)")
    }
}
