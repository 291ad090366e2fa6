import ControlAPI
import TunnelCrypto

/// The bytes of an item's file, taken apart; nothing here trusts a length that it reads.
///
/// Version 2, numbers little endian: "TNKI", version (1 byte), kind (1), length of the label (2), owner (4), length of the
/// secret (4), flags (1; bit 0: part of a configuration), zeros (7), fingerprint of the host key (8), the label in UTF-8;
/// then the sealed secret (`SecretSeal`). The additional data are everything before it and the item's name, so that no
/// file passes for another.
///
/// Version 1 had the first 16 bytes, the label, and the bare secret; it is read, and sealed at the next start.
package struct ItemFile: Equatable, Sendable {
    package enum Body: Equatable, Sendable {
        /// Where the bare secret stands.
        case plain(Range<Int>)
        /// Where the sealed secret stands; what is before it is additional data.
        case sealed(under: [UInt8], Range<Int>)
    }

    package let header: ItemHeader
    package let body: Body

    /// Why bytes are no item.
    package enum Fault: Error, Equatable, Sendable, CustomStringConvertible {
        case notAnItem
        case version(UInt8)
        case kind(UInt8)
        case length
        case emptySecret
        case truncated
        case trailingBytes
        case label
        case reservedBits
        /// The bytes aren't those that were sealed.
        case notAuthentic
        case notAFile

        package var description: String {
            switch self {
            case .notAnItem: "it doesn't begin as an item does"
            case .version(let number): "its format has version \(number), which this tunneld doesn't know"
            case .kind(let number): "its kind \(number) isn't known"
            case .length: "its lengths are beyond the limits"
            case .emptySecret: "its secret is empty"
            case .truncated: "it ends too early"
            case .trailingBytes: "it is longer than it says"
            case .label: "its label isn't UTF-8"
            case .reservedBits: "it has flags that this tunneld doesn't know"
            case .notAuthentic: "it was changed after it was sealed"
            case .notAFile: "it isn't a regular file"
            }
        }
    }

    /// The largest file.
    package static let limit = sealedFixedBytes + ItemHeader.labelLimit + SecretSeal.overhead + ItemHeader.secretLimit
    static let plainFixedBytes = 16
    static let sealedFixedBytes = 32

    private static let magic: [UInt8] = Array("TNKI".utf8)
    private static let kinds: [SecretKind] = [.password, .sharedSecret, .privateKey, .identity]

    /// Reads a whole file.
    package init(parsing bytes: RawSpan) throws(Fault) {
        let start = try Start(parsing: bytes)
        let end = start.end + start.secretCount + (start.isSealed ? SecretSeal.overhead : 0)
        guard start.secretCount <= ItemHeader.secretLimit else { throw .length }
        guard start.secretCount > 0 else { throw .emptySecret }
        guard bytes.byteCount >= end else { throw .truncated }
        guard bytes.byteCount == end else { throw .trailingBytes }
        header = start.header
        body = start.isSealed ? .sealed(under: (24..<32).map { bytes[$0] }, start.end..<end) : .plain(start.end..<end)
    }

    /// What a file says of itself, whether or not its secret is there.
    package static func header(parsing bytes: RawSpan) throws(Fault) -> ItemHeader {
        try Start(parsing: bytes).header
    }

    /// Everything before the secret.
    private struct Start {
        let header: ItemHeader
        let isSealed: Bool
        let secretCount: Int
        let end: Int

        init(parsing bytes: RawSpan) throws(Fault) {
            let version = try ItemFile.version(of: bytes)
            let fixed = version == 1 ? ItemFile.plainFixedBytes : ItemFile.sealedFixedBytes
            guard bytes.byteCount >= fixed else { throw .truncated }
            guard Int(bytes[5]) < ItemFile.kinds.count else { throw .kind(bytes[5]) }
            let label = Int(bytes.littleEndian(at: 6, bytes: 2))
            guard label <= ItemHeader.labelLimit else { throw .length }
            isSealed = version == 2
            secretCount = Int(bytes.littleEndian(at: 12, bytes: 4))
            end = fixed + label
            guard bytes.byteCount >= end else { throw .truncated }
            guard let text = String(validating: (fixed..<end).map { bytes[$0] }, as: UTF8.self) else { throw .label }
            if isSealed {
                guard bytes[16] <= 1, (17..<24).allSatisfy({ bytes[$0] == 0 }) else { throw .reservedBits }
            }
            header = ItemHeader(
                owner: UInt32(bytes.littleEndian(at: 8, bytes: 4)),
                kind: ItemFile.kinds[Int(bytes[5])],
                label: text,
                isPartOfConfiguration: !isSealed || bytes[16] == 1
            )
        }
    }

    /// 1 or 2.
    private static func version(of bytes: RawSpan) throws(Fault) -> UInt8 {
        guard bytes.byteCount > magic.count, magic.indices.allSatisfy({ bytes[$0] == magic[$0] }) else {
            throw .notAnItem
        }
        guard (1...2).contains(bytes[4]) else { throw .version(bytes[4]) }
        return bytes[4]
    }

    /// The start of a file of version 2, up to the sealed secret.
    ///
    /// A label beyond the limit is cut.
    static func head(_ header: ItemHeader, secretCount: Int, sealedUnder fingerprint: [UInt8]) -> [UInt8] {
        var label = header.label
        while label.utf8.count > ItemHeader.labelLimit { label.removeLast() }
        var bytes = magic + [2, UInt8(kinds.firstIndex(of: header.kind) ?? 0)]
        bytes.append(littleEndian: UInt64(label.utf8.count), bytes: 2)
        bytes.append(littleEndian: UInt64(header.owner), bytes: 4)
        bytes.append(littleEndian: UInt64(secretCount), bytes: 4)
        bytes.append(header.isPartOfConfiguration ? 1 : 0)
        bytes += [UInt8](repeating: 0, count: 7)
        return bytes + fingerprint + Array(label.utf8)
    }

    /// Whether the file with this start is sealed under this host key; false too for what is no item.
    static func isSealed(_ start: RawSpan, under fingerprint: [UInt8]) -> Bool {
        guard start.byteCount >= sealedFixedBytes, (try? version(of: start)) == 2 else { return false }
        return (24..<32).map { start[$0] } == fingerprint
    }
}

extension RawSpan {
    /// The byte at a place that must be inside.
    subscript(_ offset: Int) -> UInt8 { unsafe unsafeLoad(fromByteOffset: offset, as: UInt8.self) }

    fileprivate func littleEndian(at offset: Int, bytes: Int) -> UInt64 {
        (0..<bytes).reduce(0) { $0 | UInt64(self[offset + $1]) << (8 * UInt64($1)) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: UInt64, bytes: Int) {
        for index in 0..<bytes { append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }
}
