import Glibc
import NetworkTypes

/// The zone of a link-local address: an interface, by its name or its number (RFC 4007, section 11).
enum InterfaceZone {
    /// The number of an interface that there is now; nil for none.
    ///
    /// A name comes first, also one that looks like a number.
    static func index(_ zone: String) -> UInt32? {
        let named = unsafe if_nametoindex(zone)
        if named != 0 { return named }
        guard let index = UInt32(decimal: zone), name(index) != nil else { return nil }
        return index
    }

    /// The name of the interface with this number; nil where there is none.
    static func name(_ index: UInt32) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        guard unsafe if_indextoname(index, &buffer) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension Endpoint {
    /// Reads "[fe80::1%eth0]:51820" as well as what `description` writes; nil also where there is no such interface.
    init?(_ text: String, zone: (String) -> UInt32?) {
        if let endpoint = Endpoint(text) {
            self = endpoint
            return
        }
        guard let percent = text.utf8.firstIndex(of: UInt8(ascii: "%")),
            let bracket = text.utf8.firstIndex(of: UInt8(ascii: "]")), percent < bracket,
            let index = zone(String(text[text.index(after: percent)..<bracket]))
        else { return nil }
        self.init(text[...percent] + String(index) + text[bracket...])
    }

    /// As a person reads it: with the zone's name, where there is one.
    func text(zoneName: (UInt32) -> String?) -> String {
        guard zone != 0, let name = zoneName(zone) else { return description }
        return "[\(address)%\(name)]:\(port)"
    }
}
