package import ControlAPI

/// What an item is, beside its secret: the start of its file.
///
/// Layout, numbers little endian: "TNKI", version (1), kind (1 byte), length of the label (2 bytes), owner (4 bytes),
/// length of the secret (4 bytes), the label in UTF-8; the secret follows.
package struct ItemHeader: Equatable, Sendable {
    /// The user whose configurations may refer to it; 0 for the system.
    package let owner: UInt32
    package let kind: SecretKind
    /// For people: what it is of.
    package let label: String

    package init(owner: UInt32, kind: SecretKind, label: String) {
        self.owner = owner
        self.kind = kind
        self.label = label
    }

    static let fixedBytes = 16
    static let labelLimit = 1024
    /// More than a PKCS#12 identity needs.
    static let secretLimit = 256 << 10
    private static let magic: [UInt8] = Array("TNKI".utf8)
    private static let version: UInt8 = 1
    private static let kinds: [SecretKind] = [.password, .sharedSecret, .privateKey, .identity]

    /// The header of a file with a secret of so many bytes.
    func encoded(secretCount: Int) -> [UInt8] {
        let label = Array(label.utf8.prefix(Self.labelLimit))
        let kind = Self.kinds.firstIndex(of: kind) ?? 0
        var bytes = Self.magic + [Self.version, UInt8(kind)]
        bytes.append(littleEndian: UInt64(label.count), bytes: 2)
        bytes.append(littleEndian: UInt64(owner), bytes: 4)
        bytes.append(littleEndian: UInt64(secretCount), bytes: 4)
        return bytes + label
    }

    /// The lengths in the fixed part: what is to be read behind it.
    ///
    /// - Returns: nil with the fault where the bytes are no such part.
    static func lengths(of fixed: [UInt8]) -> Result<(label: Int, secret: Int), Fault> {
        guard fixed.count == fixedBytes, fixed.starts(with: magic) else { return .failure(.notAnItem) }
        guard fixed[4] == version else { return .failure(.version(fixed[4])) }
        guard Int(fixed[5]) < kinds.count else { return .failure(.kind(fixed[5])) }
        let label = Int(fixed.littleEndian(at: 6, bytes: 2))
        let secret = Int(fixed.littleEndian(at: 12, bytes: 4))
        guard label <= labelLimit, (1...secretLimit).contains(secret) else { return .failure(.length) }
        return .success((label, secret))
    }

    /// The header; `lengths(of:)` has accepted the fixed part.
    init(fixed: [UInt8], label: [UInt8]) {
        kind = Self.kinds[Int(fixed[5])]
        owner = UInt32(fixed.littleEndian(at: 8, bytes: 4))
        self.label = String(decoding: label, as: UTF8.self)
    }

    enum Fault: Error, Equatable, CustomStringConvertible {
        case notAnItem
        case version(UInt8)
        case kind(UInt8)
        case length
        case truncated

        var description: String {
            switch self {
            case .notAnItem: "it doesn't begin as an item does"
            case .version(let number): "its format has version \(number), which this tunneld doesn't know"
            case .kind(let number): "its kind \(number) isn't known"
            case .length: "its lengths are beyond the limits"
            case .truncated: "it ends too early"
            }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(littleEndian value: UInt64, bytes: Int) {
        for index in 0..<bytes { append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
    }

    fileprivate func littleEndian(at offset: Int, bytes: Int) -> UInt64 {
        (0..<bytes).reduce(0) { $0 | UInt64(self[offset + $1]) << (8 * UInt64($1)) }
    }
}
