import TunnelCrypto

/// The persistent reference of a keychain item: opaque, and the same for as long as the item lives.
package struct ItemReference: Hashable, Sendable, CustomStringConvertible {
    private static let prefix = "keychain:"
    private static let digits = 32

    /// 32 hexadecimal digits: the name of the item's file.
    let name: String

    /// A new one that no other item has.
    package static func random() -> ItemReference {
        var random = SecureRandom()
        let halves = [random.next(), random.next()] as [UInt64]
        return ItemReference(
            name: halves.map { half in
                let text = String(half, radix: 16)
                return String(repeating: "0", count: 16 - text.count) + text
            }.joined()
        )
    }

    private init(name: String) { self.name = name }

    /// Reads what `description` writes; nil for anything else, so that a name never leads out of the folder.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let reference = ItemReference(fileName: text.dropFirst(Self.prefix.count))
        else { return nil }
        self = reference
    }

    init?(fileName: some StringProtocol) {
        guard fileName.utf8.count == Self.digits,
            fileName.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        name = String(fileName)
    }

    package var description: String { Self.prefix + name }
}
