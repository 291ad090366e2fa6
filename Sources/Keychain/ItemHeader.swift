package import ControlAPI

/// What an item is, beside its secret.
package struct ItemHeader: Equatable, Sendable {
    /// The user whose configurations may refer to it; 0 for the system.
    package let owner: UInt32
    package let kind: SecretKind
    /// For people: what it is of.
    package let label: String
    /// Whether it was saved with a configuration, and goes when no configuration refers to it any more.
    package let isPartOfConfiguration: Bool

    package init(owner: UInt32, kind: SecretKind, label: String, isPartOfConfiguration: Bool = false) {
        self.owner = owner
        self.kind = kind
        self.label = label
        self.isPartOfConfiguration = isPartOfConfiguration
    }

    /// Bytes of a label.
    static let labelLimit = 1024
    /// Bytes of a secret: more than a PKCS#12 identity needs.
    package static let secretLimit = 256 << 10
}
