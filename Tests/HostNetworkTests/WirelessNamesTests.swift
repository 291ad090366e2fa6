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
            ([0, 0], []), ([0, 2, 0, 0], []), ([1, 1, 5, 0, 40, 0x61], []), ([0], []), ([], []),
            ([0, 2, 0, 0], [0, 1, 0x61]), ([7, 0], [0, 1, 0x61]),
        ] as [([UInt8], [UInt8])]
    )
    func `a hidden or damaged name is taken from the beacon, or is none`(_ answer: [UInt8], _ beacon: [UInt8]) throws {
        var writer = NetlinkWriter()
        writer.nest(NL80211_ATTR_BSS.rawValue) {
            $0.put(NL80211_BSS_STATUS.rawValue, NL80211_BSS_STATUS_ASSOCIATED.rawValue)
            $0.put(NL80211_BSS_INFORMATION_ELEMENTS.rawValue, bytes: answer)
            $0.put(NL80211_BSS_BEACON_IES.rawValue, bytes: beacon)
        }
        let heard = [try NetlinkAttributes(writer.bytes[...])]
        #expect(try WirelessNames.joined(in: heard) == (beacon.isEmpty ? nil : "a"))
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
        #expect(try kernel.group(named: "notify", of: "nlctrl") ?? 0 > 0)
        #expect(try kernel.group(named: "no-such-group", of: "nlctrl") == nil)
        #expect(try kernel.group(named: "notify", of: "no-such-family") == nil)
        // Without Wi-Fi there are no names; with it there may be some.
        _ = try WirelessNames().read()
    }

    @Test(
        arguments: [
            (NL80211_CMD_CONNECT, true), (NL80211_CMD_ROAM, true), (NL80211_CMD_DISCONNECT, true),
            (NL80211_CMD_AUTHENTICATE, false), (NL80211_CMD_FRAME, false),
        ]
    )
    func `of a network that is joined or left, and of nothing else, news are made`(
        _ command: nl80211_commands,
        _ isNews: Bool
    ) {
        var writer = NetlinkWriter()
        writer.header(genlmsghdr(cmd: UInt8(command.rawValue), version: 1, reserved: 0))
        let message = NetlinkMessage(type: 28, flags: 0, sequence: 0, payload: writer.bytes[...])
        #expect(WirelessMonitor.tellsOfANetwork(message) == isNews)
        #expect(!WirelessMonitor.tellsOfANetwork(NetlinkMessage(type: 28, flags: 0, sequence: 0, payload: [])))
    }

    @Test func `the names come by a look-up and a dump`() throws {
        let names = try WirelessNames(GenericNetlink(socket: PretendedWireless())).read()
        #expect(names == [7: "Home", 8: "Work"])
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
        guard request.type == 28, let command = request.body.first else { return [] }
        switch UInt32(command) {
        case NL80211_CMD_GET_INTERFACE.rawValue:
            return [
                message(NL80211_CMD_NEW_INTERFACE) {
                    $0.put(NL80211_ATTR_IFINDEX.rawValue, UInt32(7))
                    $0.put(NL80211_ATTR_IFTYPE.rawValue, NL80211_IFTYPE_STATION.rawValue)
                    $0.put(NL80211_ATTR_SSID.rawValue, bytes: Array("Home".utf8))
                },
                message(NL80211_CMD_NEW_INTERFACE) {
                    $0.put(NL80211_ATTR_IFINDEX.rawValue, UInt32(8))
                    $0.put(NL80211_ATTR_IFTYPE.rawValue, NL80211_IFTYPE_STATION.rawValue)
                },
            ]
        case NL80211_CMD_GET_SCAN.rawValue:
            // Of the other link only; 4 bytes of the command, 4 of the attribute before its number.
            guard request.body.dropFirst(8).first == 8 else { return [] }
            return [network("Neighbours", nil), network("Work", NL80211_BSS_STATUS_ASSOCIATED)]
        default: return []
        }
    }

    private func message(_ command: nl80211_commands, _ body: (inout NetlinkWriter) -> Void) -> NetlinkMessage {
        var writer = NetlinkWriter()
        writer.header(genlmsghdr(cmd: UInt8(command.rawValue), version: 1, reserved: 0))
        body(&writer)
        return NetlinkMessage(type: 28, flags: 2, sequence: 1, payload: writer.bytes[...])
    }

    private func network(_ name: String, _ status: nl80211_bss_status?) -> NetlinkMessage {
        message(NL80211_CMD_NEW_SCAN_RESULTS) {
            $0.nest(NL80211_ATTR_BSS.rawValue) {
                if let status { $0.put(NL80211_BSS_STATUS.rawValue, status.rawValue) }
                $0.put(
                    NL80211_BSS_INFORMATION_ELEMENTS.rawValue,
                    bytes: [1, 2, 0x82, 0x84, 0, UInt8(name.utf8.count)] + Array(name.utf8) + [3, 1, 6]
                )
            }
        }
    }

    func batch(_ requests: [NetlinkRequest]) throws(NetlinkError) -> [NetlinkError?] { [] }
}
