import CShims
import Glibc
import Netlink
import Testing

@testable import HostNetwork

@Suite struct DefaultRouteTests {
    /// A default route of IPv6 as a dump shows it; the preference is a router's (RFC 4191, section 2.1).
    private func message(_ interface: UInt32, metric: UInt32, preference: UInt8) -> NetlinkMessage {
        var writer = NetlinkWriter()
        var header = rtmsg()
        header.rtm_family = UInt8(AF_INET6)
        header.rtm_table = UInt8(RT_TABLE_MAIN.rawValue)
        header.rtm_type = UInt8(RTN_UNICAST)
        writer.header(header)
        writer.put(RTA_OIF.rawValue, interface)
        writer.put(RTA_PRIORITY.rawValue, metric)
        writer.put(RTA_PREF.rawValue, preference)
        return NetlinkMessage(type: UInt16(RTM_NEWROUTE), flags: 0, sequence: 0, payload: writer.bytes[...])
    }

    @Test func `the lower metric comes first, then what the router says of itself, then the kernel's order`() throws {
        let (medium, high, low) = (UInt8(0), UInt8(1), UInt8(3))
        let messages = [
            message(1, metric: 1024, preference: low), message(2, metric: 1024, preference: medium),
            message(3, metric: 1024, preference: high), message(4, metric: 512, preference: low),
            message(5, metric: 1024, preference: medium),
        ]
        #expect(try DefaultRoute.inOrder(messages, isIPv6: true).map(\.interface) == [4, 3, 2, 5, 1])
    }
}
