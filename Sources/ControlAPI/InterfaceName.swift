/// Names for a tunnel's network interface, derived from its configuration's name.
///
/// A configuration's name is free; an interface's has at most 15 bytes, and a kernel, a shell and a sysctl path all have
/// wishes about it. A derived name is what is left of the configuration's name, a hyphen and five characters that come
/// from the identifier: so names that begin alike stay apart, and the same configuration has the same name again.
package enum InterfaceName {
    /// `IFNAMSIZ` of linux/if.h without its final zero.
    package static let maximumBytes = 15
    private static let hashCharacters = 5
    /// Without i, l, o and u, which are misread or make words.
    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    private static let fallback = "tun"

    /// A candidate; a higher `attempt` gives another one, for when a name is taken.
    ///
    /// - Parameters:
    ///   - name: the configuration's name.
    ///   - identifier: its UUID, in either case of letters.
    ///   - attempt: 0 for the first candidate.
    package static func candidate(name: String, identifier: String, attempt: UInt32 = 0) -> String {
        let hash = hash("\(identifier.lowercased())#\(attempt)")
        let suffix = (0..<hashCharacters).map { alphabet[Int(truncatingIfNeeded: hash >> UInt64(5 * $0) & 31)] }
        return "\(stem(of: name))-\(String(decoding: suffix, as: UTF8.self))"
    }

    /// Whether a name may be an interface's here: 1 to 15 of letters, digits and `_=+.-`, and none that means more.
    ///
    /// The characters are those of wg-quick(8). `.` and `..` are folders of sysfs, `all` and `default` mean others in
    /// sysctl paths, `lo` exists.
    package static func isValid(_ name: String) -> Bool {
        (1...maximumBytes).contains(name.utf8.count) && name.utf8.allSatisfy(isAllowed)
            && ![".", "..", "all", "default", "lo"].contains(name)
    }

    /// The allowed characters of a name, each run of others as one `_`, as many as leave room for the rest.
    private static func stem(of name: String) -> String {
        let limit = maximumBytes - hashCharacters - 1
        var stem: [UInt8] = []
        var isGap = false
        for byte in name.utf8 {
            guard isAllowed(byte) else {
                isGap = true
                continue
            }
            // At the front a hyphen would look like an option, a dot like a hidden file, and a gap says nothing.
            if stem.isEmpty, !isAlphanumeric(byte) { continue }
            if isGap, !stem.isEmpty { stem.append(UInt8(ascii: "_")) }
            isGap = false
            stem.append(byte)
            if stem.count >= limit { break }
        }
        stem = Array(stem.prefix(limit))
        while let last = stem.last, !isAlphanumeric(last) { stem.removeLast() }
        return stem.isEmpty ? fallback : String(decoding: stem, as: UTF8.self)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "_=+.-".utf8.contains(byte) }

    /// FNV-1a of 64 bits, a hash that is no secret's guard, folded so that the low bits hang on all of them.
    private static func hash(_ text: String) -> UInt64 {
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return hash ^ hash >> 32
    }
}
