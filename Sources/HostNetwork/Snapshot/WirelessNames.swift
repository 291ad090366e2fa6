import CShims
package import Netlink

/// The names of the Wi-Fi networks that this machine is in (SSID), by nl80211.
///
/// The kernel knows a name a moment later than the carrier, so that rtnetlink doesn't tell when to look: see
/// `WirelessMonitor`.
package struct WirelessNames: Sendable {
    private let socket: GenericNetlink

    /// - Throws: when the process may not open a socket.
    package init() throws(NetlinkError) { socket = try GenericNetlink() }

    init(_ socket: GenericNetlink) { self.socket = socket }

    /// The names by the links' numbers; none where the kernel has no Wi-Fi.
    package func read() throws(NetlinkError) -> [UInt32: String] {
        guard let family = try socket.family(named: NL80211_GENL_NAME) else { return [:] }
        let interfaces = try socket.dump(family, NL80211_CMD_GET_INTERFACE.rawValue)
        var names = Self.names(in: interfaces)
        // Linux 6.1 says nothing there of a link whose handshakes wpa_supplicant does; what was heard of the network does.
        for index in Self.stations(in: interfaces) where names[index] == nil {
            let heard = try socket.dump(family, NL80211_CMD_GET_SCAN.rawValue) {
                $0.put(NL80211_ATTR_IFINDEX.rawValue, index)
            }
            names[index] = try Self.joined(in: heard)
        }
        return names
    }

    /// What a dump of the wireless interfaces says.
    static func names(in interfaces: [NetlinkAttributes]) -> [UInt32: String] {
        var names: [UInt32: String] = [:]
        for attributes in interfaces {
            guard let index: UInt32 = attributes.number(NL80211_ATTR_IFINDEX.rawValue),
                let bytes = attributes[NL80211_ATTR_SSID.rawValue]
            else { continue }
            names[index] = name(bytes)
        }
        return names
    }

    /// The links that join networks, rather than be one.
    static func stations(in interfaces: [NetlinkAttributes]) -> [UInt32] {
        let kinds = [NL80211_IFTYPE_STATION, NL80211_IFTYPE_P2P_CLIENT].map(\.rawValue)
        return interfaces.compactMap { attributes in
            guard kinds.contains(attributes.number(NL80211_ATTR_IFTYPE.rawValue) ?? 0) else { return nil }
            return attributes.number(NL80211_ATTR_IFINDEX.rawValue)
        }
    }

    /// The name of the network that a link is in, from a dump of those it has heard.
    static func joined(in heard: [NetlinkAttributes]) throws(NetlinkError) -> String? {
        for attributes in heard {
            guard let network = try attributes.nested(NL80211_ATTR_BSS.rawValue),
                network.number(NL80211_BSS_STATUS.rawValue) == NL80211_BSS_STATUS_ASSOCIATED.rawValue
            else { continue }
            // What an access point answers has the name also where its beacons hide it.
            for kind in [NL80211_BSS_INFORMATION_ELEMENTS, NL80211_BSS_BEACON_IES] {
                if let bytes = network[kind.rawValue].flatMap(nameElement), let name = name(bytes) { return name }
            }
        }
        return nil
    }

    /// The first element of number 0, SSID; each has a number and a length before it (IEEE 802.11, 9.4.2.1).
    private static func nameElement(in elements: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var rest = elements
        while let number = rest.first, let length = rest.dropFirst().first, rest.count >= 2 + Int(length) {
            if number == 0 { return rest.dropFirst(2).prefix(Int(length)) }
            rest = rest.dropFirst(2 + Int(length))
        }
        return nil
    }

    /// Nil for a name that is hidden: empty, or zeros alone.
    private static func name(_ bytes: ArraySlice<UInt8>) -> String? {
        (1...32).contains(bytes.count) && bytes.contains { $0 != 0 } ? text(bytes) : nil
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
