import Glibc
import LinuxSystem
import TunnelCrypto

@testable import Keychain

/// A new folder that goes, with everything in it, when its owner does.
final class TemporaryFolder: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/keychain-XXXXXX".utf8CString)
        guard let path = unsafe mkdtemp(&template) else { preconditionFailure("mkdtemp: errno \(errno)") }
        unsafe self.path = String(cString: path)
    }

    deinit { try? FolderRemoval.remove(path) }
}

/// The keychain of a state directory, under the host key that lies there.
func openKeychain(in state: TemporaryFolder, credentials: String? = nil) throws -> Keychain {
    try Keychain(
        folder: state.path + "/keychain",
        keys: HostKeys.load(credentials: credentials, state: state.path)
    )
}

func secret(_ text: String) -> SecretBytes { unsafe SecretBytes(copying: Array(text.utf8).span.bytes) }

/// The secret of an item, whoever owns it.
func text(_ keychain: Keychain, _ reference: ItemReference) throws -> String {
    let secret = try keychain.secret(of: reference, ownedBy: nil)
    return unsafe secret.bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
}
