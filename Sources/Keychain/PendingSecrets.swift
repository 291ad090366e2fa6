import ControlAPI
import Glibc
package import LinuxSystem
import TunnelCrypto

/// Secrets on their way into the keychain: what a client sent in a bundle, by label.
///
/// Wiped when it goes.
package final class PendingSecrets: Sendable {
    /// More than any configuration needs.
    package static let limit = 4096

    private let entries: [String: Entry]

    private final class Entry: Sendable {
        let secret: SecretBytes
        init(_ secret: consuming SecretBytes) { self.secret = secret }
    }

    /// None.
    package init() { entries = [:] }

    /// Reads the bundle in a memfd.
    ///
    /// What the sender does to the file afterwards changes nothing.
    ///
    /// - Throws: `malformedBundle`, `emptySecret`, `secretTooLong`, `system`.
    package init(readingBundle file: SharedDescriptor) throws(KeychainError) {
        let bytes = try Self.contents(of: file)
        var entries: [String: Entry] = [:]
        var isTooMuch = false
        let isWhole = unsafe bytes.bytes.withUnsafeBytes { buffer in
            unsafe SecretBundle.read(buffer) { label, secret in
                guard entries.count < Self.limit, entries[label] == nil else {
                    isTooMuch = true
                    return
                }
                entries[label] = unsafe Entry(SecretBytes(copying: RawSpan(_unsafeBytes: secret)))
            }
        }
        guard isWhole else { throw .malformedBundle("it isn't a whole bundle") }
        guard !isTooMuch else { throw .malformedBundle("it holds a label twice, or over \(Self.limit) secrets") }
        for (label, entry) in entries {
            guard entry.secret.count > 0 else { throw .emptySecret(label: label) }
            guard entry.secret.count <= ItemHeader.secretLimit else {
                throw .secretTooLong(label: label, limit: ItemHeader.secretLimit)
            }
        }
        self.entries = entries
    }

    package var labels: Set<String> { Set(entries.keys) }

    /// Lends one secret; nil where there is none of this label.
    func withSecret<R>(_ label: String, _ body: (borrowing SecretBytes) throws(KeychainError) -> R)
        throws(KeychainError)
        -> R?
    {
        guard let entry = entries[label] else { return nil }
        return try body(entry.secret)
    }

    private static func contents(of file: SharedDescriptor) throws(KeychainError) -> SecretBytes {
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else { throw .system(SystemError(errno, in: "fstat")) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= SecretBundle.maximumBytes else {
            throw .malformedBundle("it is no file of at most \(SecretBundle.maximumBytes) bytes")
        }
        guard let bytes = SecretBytes(readingFrom: file.raw, count: Int(status.st_size)) else {
            throw .malformedBundle("it changed while it was read")
        }
        return bytes
    }
}
