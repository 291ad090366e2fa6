import CShims
import Glibc
import Netlink
import Testing

@testable import HostNetwork

/// nl80211 as Documentation and include/uapi/linux/nl80211.h describe it; the bytes are put together here.
@Suite struct WirelessNamesTests {
    private func interface(_ index: UInt32, ssid: [UInt8]?) throws -> NetlinkAttributes {
        var writer = NetlinkWriter()
        writer.put(NL80211_ATTR_IFINDEX.rawValue, index)
        writer.put(NL80211_ATTR_IFNAME.rawValue, string: "wlan\(index)")
        writer.put(NL80211_ATTR_IFTYPE.rawValue, UInt32(NL80211_IFTYPE_STATION.rawValue))
        if let ssid { writer.put(NL80211_ATTR_SSID.rawValue, bytes: ssid) }
        return try NetlinkAttributes(writer.bytes[...])
    }

    @Test func `the names of joined networks are found by their links`() throws {
        let names = WirelessNames.names(in: [
            try interface(3, ssid: Array("Café".utf8)), try interface(4, ssid: nil), try interface(5, ssid: []),
            try interface(6, ssid: [UInt8](repeating: 0x61, count: 33)),
        ])
        #expect(names == [3: "Café"])
    }

    @Test(
        arguments: [
            (Array("plain".utf8), "plain"), ([0x41, 0xff, 0x42], "A\\xffB"), (Array("a\\b".utf8), "a\\\\b"),
            ([0xff, 0x5c], "\\xff\\\\"), ([0xff, 0x0a], "\\xff\\x0a"),
        ] as [([UInt8], String)]
    )
    func `a name is told whatever its bytes are`(_ bytes: [UInt8], _ text: String) {
        #expect(WirelessNames.text(bytes[...]) == text)
    }

    @Test func `the kernel's other interfaces are found by name, and one that isn't there is no error`() throws {
        let kernel = try GenericNetlink()
        #expect(try kernel.family(named: "nlctrl") == UInt16(GENL_ID_CTRL))
        #expect(try kernel.family(named: "no-such-family") == nil)
        #expect(!(try kernel.dump(UInt16(GENL_ID_CTRL), CTRL_CMD_GETFAMILY)).isEmpty)
        // Without Wi-Fi there are no names; with it there may be some.
        _ = try WirelessNames().read()
    }

    @Test func `the names come by a look-up and a dump`() throws {
        let names = try WirelessNames(GenericNetlink(socket: PretendedWireless())).read()
        #expect(names == [7: "Home"])
    }
}

/// A kernel with one Wi-Fi link that is in the network "Home".
private struct PretendedWireless: NetlinkSocket {
    func request(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        var writer = NetlinkWriter()
        writer.header(genlmsghdr(cmd: UInt8(CTRL_CMD_NEWFAMILY), version: 2, reserved: 0))
        writer.put(CTRL_ATTR_FAMILY_ID, UInt16(28))
        return [NetlinkMessage(type: UInt16(GENL_ID_CTRL), flags: 0, sequence: 1, payload: writer.bytes[...])]
    }

    func dump(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        guard request.type == 28, request.body.first == UInt8(NL80211_CMD_GET_INTERFACE.rawValue) else { return [] }
        var writer = NetlinkWriter()
        writer.header(genlmsghdr(cmd: UInt8(NL80211_CMD_NEW_INTERFACE.rawValue), version: 1, reserved: 0))
        writer.put(NL80211_ATTR_IFINDEX.rawValue, UInt32(7))
        writer.put(NL80211_ATTR_SSID.rawValue, bytes: Array("Home".utf8))
        return [NetlinkMessage(type: 28, flags: 2, sequence: 1, payload: writer.bytes[...])]
    }

    func batch(_ requests: [NetlinkRequest]) throws(NetlinkError) -> [NetlinkError?] { [] }
}
