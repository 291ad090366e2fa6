import ControlAPI
import Glibc
package import LinuxSystem
package import TunnelCrypto

/// Secrets, each in a sealed file of its own that only root may read, named by references everywhere else.
///
/// Nothing here removes an item because it couldn't be read: only `remove` does.
package struct Keychain: Sendable {
    /// Opens a file for reading without waiting; a test puts a keychain that fails in its place.
    package typealias Opener = @Sendable (_ path: String) throws(SystemError) -> OwnedDescriptor

    let folder: String
    let keys: HostKeys
    private let opener: Opener

    /// Opens the folder, or makes it.
    package init(
        folder: String,
        keys: HostKeys,
        opener: @escaping Opener = { (path) throws(SystemError) in try Keychain.open(path) }
    ) throws(KeychainError) {
        self.folder = folder
        self.keys = keys
        self.opener = opener
        do throws(SystemError) {
            try makeFolder(folder, mode: 0o700)
            try AtomicFile.removeTemporaryFiles(in: folder)
        } catch {
            throw .system(error)
        }
    }

    /// Why no secret can be kept, as the rest of a sentence, or nil.
    package var problem: String? { keys.problem }

    /// Keeps a secret; durable once this has returned.
    ///
    /// - Throws: `emptySecret`, `secretTooLong`, `locked`, `system`.
    package func add(_ secret: borrowing SecretBytes, as header: ItemHeader) throws(KeychainError) -> ItemReference {
        let reference = ItemReference.random()
        try write(secret, as: header, to: reference)
        return reference
    }

    /// Puts another secret, or another label, in an item's place: the old one or the new one, whole.
    ///
    /// - Throws: as `add(_:as:)`.
    package func replace(
        _ reference: ItemReference,
        with secret: borrowing SecretBytes,
        as header: ItemHeader
    ) throws(KeychainError) {
        try write(secret, as: header, to: reference)
    }

    /// The secret of an item.
    ///
    /// - Parameter user: whose it must be; nil: anybody's.
    /// - Throws: `notFound`, `damaged`, `sealedUnderAnotherKey`, `unreadable`, `locked`.
    package func secret(of reference: ItemReference, ownedBy user: UInt32?) throws(KeychainError) -> SecretBytes {
        let (file, bytes) = try file(of: reference, ownedBy: user)
        return try secret(in: file, bytes.memory, reference)
    }

    /// Lends an item's secret, with what the item is.
    ///
    /// - Throws: as `secret(of:ownedBy:)`.
    func withItem<R>(
        _ reference: ItemReference,
        ownedBy user: UInt32?,
        _ body: (ItemHeader, borrowing SecretBytes) throws(KeychainError) -> R
    ) throws(KeychainError) -> R {
        let (file, bytes) = try file(of: reference, ownedBy: user)
        let secret = try secret(in: file, bytes.memory, reference)
        return try body(file.header, secret)
    }

    /// Gives an item another label; its secret and its reference stay.
    ///
    /// - Throws: as `secret(of:ownedBy:)` and `add(_:as:)`.
    package func rename(_ reference: ItemReference, to header: ItemHeader) throws(KeychainError) {
        try withItem(reference, ownedBy: header.owner) { (_, secret) throws(KeychainError) in
            try write(secret, as: header, to: reference)
        }
    }

    /// What an item is, once its seal has been found good.
    ///
    /// - Throws: as `secret(of:ownedBy:)`.
    package func header(of reference: ItemReference, ownedBy user: UInt32?) throws(KeychainError) -> ItemHeader {
        let (file, bytes) = try file(of: reference, ownedBy: user)
        _ = try secret(in: file, bytes.memory, reference)
        return file.header
    }

    /// What an item says that it is, its seal unseen.
    ///
    /// - Throws: `notFound`, `damaged`, `unreadable`.
    package func claimedHeader(of reference: ItemReference) throws(KeychainError) -> ItemHeader {
        let bytes = FileBytes(try contents(of: reference))
        do throws(ItemFile.Fault) {
            return try Self.header(in: bytes.memory)
        } catch {
            throw damaged(reference, error)
        }
    }

    /// Removes an item; one that isn't there is no error.
    package func remove(_ reference: ItemReference) throws(KeychainError) { try remove(CollectionOfOne(reference)) }

    /// Removes items, as far as that can be done; those that aren't there are no error.
    ///
    /// - Parameter onItem: called after each that is gone.
    /// - Throws: `system`, the first one.
    package func remove(
        _ references: some Collection<ItemReference>,
        onItem: () -> Void = {}
    ) throws(KeychainError) {
        guard !references.isEmpty else { return }
        do throws(SystemError) {
            try AtomicFile.remove(references.lazy.map(\.name), in: folder, onFile: onItem)
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

    // MARK: Sealing anew

    /// Seals what isn't sealed under the present host key but can be read: items of before there were seals, and those
    /// that another key opens.
    ///
    /// Each is replaced at once or not at all, so this may be cut short and done again.
    ///
    /// - Returns: how many were sealed, and what went wrong, a sentence each.
    package func sealAll() -> (sealed: Int, incidents: [String]) {
        guard let key = keys.sealing, let references = try? references() else { return (0, []) }
        var sealed = 0
        var incidents: [String] = []
        for reference in references.sorted(by: { $0.name < $1.name }) where !isSealed(reference, under: key) {
            do throws(KeychainError) {
                let (file, bytes) = try file(of: reference, ownedBy: nil)
                try write(secret(in: file, bytes.memory, reference), as: file.header, to: reference)
                sealed += 1
            } catch {
                incidents.append("A keychain item can't be used: \(error).")
            }
        }
        return (sealed, incidents)
    }

    private func isSealed(_ reference: ItemReference, under key: HostKey) -> Bool {
        guard let file = try? opener(path(of: reference)),
            let start = SecretBytes(readingFrom: file.raw, count: ItemFile.sealedFixedBytes)
        else { return false }
        return ItemFile.isSealed(start.bytes, under: key.fingerprint)
    }

    // MARK: Files

    private func path(of reference: ItemReference) -> String { "\(folder)/\(reference.name)" }

    private func write(
        _ secret: borrowing SecretBytes,
        as header: ItemHeader,
        to reference: ItemReference
    ) throws(KeychainError) {
        let bytes = try sealed(secret, as: header, at: reference)
        do throws(SystemError) {
            try AtomicFile.write(bytes, to: path(of: reference), mode: 0o600)
        } catch {
            throw .system(error)
        }
    }

    /// What an item's file holds.
    func sealed(
        _ secret: borrowing SecretBytes,
        as header: ItemHeader,
        at reference: ItemReference
    ) throws(KeychainError) -> [UInt8] {
        guard secret.count > 0 else { throw .emptySecret(label: header.label) }
        guard secret.count <= ItemHeader.secretLimit else {
            throw .secretTooLong(label: header.label, limit: ItemHeader.secretLimit)
        }
        let key = try keys.sealingKey()
        let head = ItemFile.head(header, secretCount: secret.count, sealedUnder: key.fingerprint)
        return head + key.seal(secret.bytes, additional: head + reference.name.utf8)
    }

    private func secret(
        in file: ItemFile,
        _ memory: borrowing SecretBytes,
        _ reference: ItemReference
    ) throws(KeychainError) -> SecretBytes {
        let bytes = memory.bytes
        switch file.body {
        case .plain(let range): return SecretBytes(copying: bytes.extracting(range))
        case .sealed(let fingerprint, let range):
            let key = try keys.key(fingerprint, of: reference.description)
            let head = (0..<range.lowerBound).map { bytes[$0] }
            guard let secret = key.open(bytes.extracting(range), additional: head + reference.name.utf8) else {
                throw damaged(reference, .notAuthentic)
            }
            return secret
        }
    }

    /// The bytes of a file, which may hold a bare secret.
    private final class FileBytes {
        let memory: SecretBytes
        init(_ memory: consuming SecretBytes) { self.memory = memory }
    }

    private func file(
        of reference: ItemReference,
        ownedBy user: UInt32?
    ) throws(KeychainError) -> (file: ItemFile, bytes: FileBytes) {
        let bytes = FileBytes(try contents(of: reference))
        let file: ItemFile
        do throws(ItemFile.Fault) {
            file = try Self.parse(bytes.memory)
        } catch {
            throw damaged(reference, error)
        }
        if let user, file.header.owner != user { throw .notFound(reference: reference.description) }
        return (file, bytes)
    }

    private static func header(in memory: borrowing SecretBytes) throws(ItemFile.Fault) -> ItemHeader {
        try ItemFile.header(parsing: memory.bytes)
    }

    private static func parse(_ memory: borrowing SecretBytes) throws(ItemFile.Fault) -> ItemFile {
        try ItemFile(parsing: memory.bytes)
    }

    private func contents(of reference: ItemReference) throws(KeychainError) -> SecretBytes {
        let file = try open(reference)
        var status = stat()
        guard unsafe fstat(file.raw, &status) == 0 else {
            throw .unreadable(reference: reference.description, SystemError(errno, in: "fstat"))
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw damaged(reference, .notAFile) }
        guard status.st_size <= ItemFile.limit else { throw damaged(reference, .length) }
        guard let bytes = SecretBytes(readingFrom: file.raw, count: Int(status.st_size)) else {
            throw damaged(reference, .truncated)
        }
        return bytes
    }

    private func open(_ reference: ItemReference) throws(KeychainError) -> OwnedDescriptor {
        do throws(SystemError) {
            return try opener(path(of: reference))
        } catch {
            if error.code == ENOENT { throw .notFound(reference: reference.description) }
            if error.code == ELOOP { throw damaged(reference, .notAFile) }
            throw .unreadable(reference: reference.description, error)
        }
    }

    private func damaged(_ reference: ItemReference, _ fault: ItemFile.Fault) -> KeychainError {
        .damaged(reference: reference.description, fault.description)
    }

    /// Follows no link, and waits for nobody who holds a lease on the file: such an item is busy (EAGAIN).
    private static func open(_ path: String) throws(SystemError) -> OwnedDescriptor {
        let raw = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)
        guard raw >= 0 else { throw SystemError(errno, call: "open(\(path))") }
        return OwnedDescriptor(adopting: raw)
    }
}
