import ControlAPI
import Glibc
import LinuxSystem
package import TunnelCrypto

/// Secrets, each in a file of its own that only root may read, named by references everywhere else.
///
/// Nothing here removes an item because it couldn't be read: only `remove` does.
package struct Keychain: Sendable {
    private let folder: String

    /// Opens the folder, or makes it.
    package init(folder: String) throws(KeychainError) {
        self.folder = folder
        do throws(SystemError) {
            if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST { throw SystemError(errno, call: "mkdir(\(folder))") }
            try check("chmod") { unsafe chmod(folder, 0o700) }
            try AtomicFile.removeTemporaryFiles(in: folder)
        } catch {
            throw .system(error)
        }
    }

    /// Keeps a secret; durable once this has returned.
    ///
    /// - Throws: `emptySecret`, `secretTooLong`, `system`.
    package func add(_ secret: borrowing SecretBytes, as header: ItemHeader) throws(KeychainError) -> ItemReference {
        guard secret.count > 0 else { throw .emptySecret(label: header.label) }
        guard secret.count <= ItemHeader.secretLimit else {
            throw .secretTooLong(label: header.label, limit: ItemHeader.secretLimit)
        }
        let reference = ItemReference.random()
        let head = header.encoded(secretCount: secret.count)
        let bytes = secret.bytes
        do throws(SystemError) {
            try AtomicFile.write(to: path(of: reference), mode: 0o600) { file throws(SystemError) in
                try AtomicFile.writeAll(unsafe head.span.bytes, to: file)
                try AtomicFile.writeAll(bytes, to: file)
            }
        } catch {
            throw .system(error)
        }
        return reference
    }

    /// The secret of an item.
    ///
    /// - Parameter user: whose it must be; nil: anybody's.
    /// - Throws: `notFound`, `foreign`, `damaged`, `system`.
    package func secret(of reference: ItemReference, ownedBy user: UInt32?) throws(KeychainError) -> SecretBytes {
        let (header, file, count) = try open(reference)
        if let user, header.owner != user { throw .foreign(reference: reference.description) }
        var secret = SecretBytes(zeroCount: count)
        let raw = file.raw
        let isWhole = secret.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe readWhole(raw, into: buffer)
            }
        }
        guard isWhole else { throw .damaged(reference: reference.description, "\(ItemHeader.Fault.truncated)") }
        return secret
    }

    /// What an item is, without its secret.
    ///
    /// - Throws: `notFound`, `damaged`, `system`.
    package func header(of reference: ItemReference) throws(KeychainError) -> ItemHeader { try open(reference).0 }

    /// Removes an item; one that isn't there is no error.
    package func remove(_ reference: ItemReference) throws(KeychainError) {
        do throws(SystemError) {
            try AtomicFile.remove(path(of: reference))
        } catch {
            throw .system(error)
        }
    }

    /// Every item that has a file, damaged ones too.
    package func references() throws(KeychainError) -> Set<ItemReference> {
        do throws(SystemError) {
            return Set(try FileSystem.names(inFolder: folder).compactMap { ItemReference(fileName: $0) })
        } catch {
            throw .system(error)
        }
    }

    private func path(of reference: ItemReference) -> String { "\(folder)/\(reference.name)" }

    /// The header, and the file at the first byte of the secret.
    private func open(_ reference: ItemReference) throws(KeychainError) -> (ItemHeader, SharedDescriptor, Int) {
        let path = path(of: reference)
        let raw = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY)
        guard raw >= 0 else {
            if errno == ENOENT { throw .notFound(reference: reference.description) }
            throw .system(SystemError(errno, call: "open(\(path))"))
        }
        let file = SharedDescriptor(OwnedDescriptor(adopting: raw))
        do throws(ItemHeader.Fault) {
            let fixed = try read(raw, count: ItemHeader.fixedBytes)
            let lengths = try ItemHeader.lengths(of: fixed).get()
            let label = try read(raw, count: lengths.label)
            return (ItemHeader(fixed: fixed, label: label), file, lengths.secret)
        } catch {
            throw .damaged(reference: reference.description, error.description)
        }
    }

    private func read(_ raw: Int32, count: Int) throws(ItemHeader.Fault) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let isWhole = unsafe bytes.withUnsafeMutableBytes { unsafe readWhole(raw, into: $0) }
        guard isWhole else { throw .truncated }
        return bytes
    }
}

/// Whether the file had enough bytes to fill the buffer.
private func readWhole(_ raw: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    var done = 0
    while done < buffer.count {
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let count = unsafe read(raw, rest.baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { return false }
        done += count
    }
    return true
}
