import CShims
package import Netlink

/// The names of the Wi-Fi networks that this machine is in (SSID), by nl80211.
///
/// Another network is joined over a loss of the carrier, so that rtnetlink's events tell when to look again.
package struct WirelessNames: Sendable {
    private let socket: GenericNetlink

    /// - Throws: when the process may not open a socket.
    package init() throws(NetlinkError) { socket = try GenericNetlink() }

    init(_ socket: GenericNetlink) { self.socket = socket }

    /// The names by the links' numbers; none where the kernel has no Wi-Fi.
    package func read() throws(NetlinkError) -> [UInt32: String] {
        guard let family = try socket.family(named: NL80211_GENL_NAME) else { return [:] }
        return Self.names(in: try socket.dump(family, NL80211_CMD_GET_INTERFACE.rawValue))
    }

    /// What a dump of the wireless interfaces says.
    static func names(in interfaces: [NetlinkAttributes]) -> [UInt32: String] {
        var names: [UInt32: String] = [:]
        for attributes in interfaces {
            guard let index: UInt32 = attributes.number(NL80211_ATTR_IFINDEX.rawValue),
                let bytes = attributes[NL80211_ATTR_SSID.rawValue], (1...32).contains(bytes.count)
            else { continue }
            names[index] = text(bytes)
        }
        return names
    }

    /// A name is up to 32 bytes of anything (IEEE 802.11, 9.4.2.2); what is no UTF-8 is written as "\xNN", and so that two
    /// names never look the same, the backslash as two.
    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(UInt8(ascii: "\\")) { return text }
        var text = ""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\\"): text += "\\\\"
            case 0x20...0x7e: text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }
        return text
    }
}
