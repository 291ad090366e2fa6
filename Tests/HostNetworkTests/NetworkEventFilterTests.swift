import CShims
import Glibc
import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct NetworkEventFilterTests {
    /// What the kernel tells of the address 2001:db8::9/64 of a link.
    private func news(_ type: some BinaryInteger, flags: some BinaryInteger) throws -> NetlinkMessage {
        var writer = NetlinkWriter()
        var header = ifaddrmsg()
        header.ifa_family = UInt8(AF_INET6)
        header.ifa_prefixlen = 64
        header.ifa_index = 7
        writer.header(header)
        writer.put(IFA_ADDRESS, bytes: try #require(IPAddress("2001:db8::9")).bytes)
        writer.put(IFA_FLAGS, UInt32(flags))
        return NetlinkMessage(type: UInt16(type), flags: 0, sequence: 0, payload: writer.bytes[...])
    }

    @Test func `an address is news when it can be used, not before, and when it goes`() throws {
        var filter = NetworkEventFilter(OwnInterfaces())
        #expect(filter.events(in: try news(RTM_NEWADDR, flags: IFA_F_TENTATIVE)) == [], "it is still being checked")
        #expect(filter.events(in: try news(RTM_NEWADDR, flags: 0)) == .addresses)
        #expect(filter.events(in: try news(RTM_NEWADDR, flags: 0)) == [], "a router's advertisement tells it again")
        #expect(filter.events(in: try news(RTM_DELADDR, flags: 0)) == .addresses)
    }

    @Test func `one that fails its check was never there`() throws {
        var filter = NetworkEventFilter(OwnInterfaces())
        #expect(filter.events(in: try news(RTM_NEWADDR, flags: IFA_F_TENTATIVE)) == [])
        #expect(filter.events(in: try news(RTM_NEWADDR, flags: IFA_F_TENTATIVE | IFA_F_DADFAILED)) == [])
    }
}
