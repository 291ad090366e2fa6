import Glibc
import LinuxSystem
import TunnelCrypto

/// The host keys that this machine has: the credential that systemd hands over, and the file in the state directory.
///
/// Items are sealed under the credential where there is one, else under the file's key, which is made where there is
/// none. The other one still opens what was sealed under it.
package struct HostKeys: Sendable {
    /// The name of the credential: `LoadCredentialEncrypted=tunneld.host-key`, 32 bytes.
    package static let credentialName = "tunneld.host-key"
    /// The name of the file in the state directory: 32 bytes, readable by root alone.
    package static let fileName = "host-key"

    /// What new items are sealed under; nil where there is a problem.
    let sealing: HostKey?
    private let others: [HostKey]
    /// Why nothing can be sealed, as the rest of a sentence.
    package let problem: String?

    /// Reads the keys; makes the file, durably, where there is neither.
    ///
    /// What can't be read is never replaced: a wrong key would be worse than none.
    ///
    /// - Parameters:
    ///   - credentials: `$CREDENTIALS_DIRECTORY`.
    ///   - state: the state directory.
    package static func load(credentials: String?, state: String) -> HostKeys {
        let path = "\(state)/\(fileName)"
        let kept = read(path, tighten: true)
        if let credentials {
            switch read("\(credentials)/\(credentialName)", tighten: false) {
            case .key(let key): return HostKeys(sealing: key, others: [kept.key].compactMap(\.self), problem: nil)
            case .fault(let fault):
                return HostKeys(
                    sealing: nil,
                    others: [kept.key].compactMap(\.self),
                    problem: "the credential \(credentialName) can't be used: \(fault)"
                )
            case .absent: break
            }
        }
        switch kept {
        case .key(let key): return HostKeys(sealing: key, others: [], problem: nil)
        case .fault(let fault):
            return HostKeys(sealing: nil, others: [], problem: "the host key \(path) can't be used: \(fault)")
        case .absent:
            do throws(SystemError) {
                return HostKeys(sealing: try make(path), others: [], problem: nil)
            } catch {
                return HostKeys(sealing: nil, others: [], problem: "the host key \(path) can't be made: \(error)")
            }
        }
    }

    /// What new items are sealed under.
    ///
    /// - Throws: `locked`, with why.
    func sealingKey() throws(KeychainError) -> HostKey {
        guard let sealing else { throw .locked(problem ?? "there is no host key") }
        return sealing
    }

    /// The key that something was sealed under.
    ///
    /// - Parameter reference: what that is, for the error.
    /// - Throws: `locked` or `sealedUnderAnotherKey`: which of the two it is, is what a person must mend.
    func key(_ fingerprint: [UInt8], of reference: String) throws(KeychainError) -> HostKey {
        for key in [sealing].compactMap(\.self) + others where key.fingerprint == fingerprint { return key }
        if let problem { throw .locked(problem) }
        throw .sealedUnderAnotherKey(reference: reference)
    }

    private enum Found {
        case key(HostKey)
        case absent
        case fault(String)

        var key: HostKey? {
            guard case .key(let key) = self else { return nil }
            return key
        }
    }

    /// - Parameter tighten: whether to take the file from everybody but its owner.
    private static func read(_ path: String, tighten: Bool) -> Found {
        let raw = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard raw >= 0 else {
            let error = SystemError(errno, call: "open(\(path))")
            return error.isAbsentFile ? .absent : .fault(error.description)
        }
        let file = OwnedDescriptor(adopting: raw)
        var status = stat()
        guard unsafe fstat(raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return .fault("it isn't a regular file")
        }
        if tighten, status.st_mode & 0o077 != 0 { _ = fchmod(raw, 0o600) }
        guard Int(status.st_size) == SecretSeal.keySize else {
            return .fault("it has \(status.st_size) bytes, not \(SecretSeal.keySize)")
        }
        guard let key = SecretBytes(readingFrom: file.raw, count: SecretSeal.keySize) else {
            return .fault("it can't be read")
        }
        return .key(HostKey(key))
    }

    private static func make(_ path: String) throws(SystemError) -> HostKey {
        let key = SecretBytes(randomCount: SecretSeal.keySize)
        try write(key, to: path)
        return HostKey(key)
    }

    private static func write(_ key: borrowing SecretBytes, to path: String) throws(SystemError) {
        let bytes = key.bytes
        try AtomicFile.write(to: path, mode: 0o600) { file throws(SystemError) in
            try AtomicFile.writeAll(bytes, to: file)
        }
    }
}
