import ControlAPI
import Glibc
import LinuxSystem
import Testing
import TunnelCrypto

@testable import Keychain

/// Secrets on their way in, from a client's bundle, and out, into a provider's.
@Suite struct SecretBundleTests {
    private let temporary = TemporaryFolder()

    @Test func `what a client sends goes into the keychain and out to a provider`() throws {
        let keychain = try openKeychain(in: temporary)
        let file = try bundle(["new:a": "wolf", "new:b": "sheep"])
        let pending = try PendingSecrets(readingBundle: file)
        #expect(pending.labels == ["new:a", "new:b"])
        let header = ItemHeader(owner: 0, kind: .privateKey, label: "x")
        let a = try keychain.add(checked("new:a", pending), as: header)
        let b = try keychain.add(checked("new:b", pending), as: header)
        let out = try keychain.sealedBundle(of: [a, b], ownedBy: 0)
        #expect(try contents(of: out.raw) == [a.description: "wolf", b.description: "sheep"])
    }

    @Test func `a label that isn't there is told`() throws {
        #expect(throws: KeychainError.malformedBundle("it has no secret labelled new:a")) {
            try Keychain.checkedSecret("new:a", of: PendingSecrets(), kind: .password, now: 0)
        }
    }

    @Test func `a bundle for a provider fails whole when one item can't be had`() throws {
        let keychain = try openKeychain(in: temporary)
        let pending = try PendingSecrets(readingBundle: bundle(["new:a": "wolf"]))
        let a = try keychain.add(checked("new:a", pending), as: ItemHeader(owner: 7, kind: .privateKey, label: "x"))
        let gone = try #require(ItemReference("keychain:0123456789abcdef0123456789abcdef"))
        #expect(throws: KeychainError.notFound(reference: gone.description)) {
            try keychain.sealedBundle(of: [a, gone], ownedBy: 7)
        }
        #expect(throws: KeychainError.notFound(reference: a.description)) {
            try keychain.sealedBundle(of: [a], ownedBy: 8)
        }
    }

    @Test(arguments: ["", "TNL", "XXXX", "TNLS\u{1}", "TNLS\u{1}\u{0}a\u{9}\u{0}\u{0}\u{0}b"])
    func `what is no bundle is refused`(text: String) throws {
        let file = try memoryFile(Array(text.utf8))
        #expect(throws: KeychainError.malformedBundle("it isn't a whole bundle")) {
            _ = try PendingSecrets(readingBundle: file)
        }
    }

    @Test func `an empty secret, a label twice, and what is no file are refused`() throws {
        let empty = try bundle(["new:a": ""])
        #expect(throws: KeychainError.emptySecret(label: "new:a")) {
            _ = try PendingSecrets(readingBundle: empty)
        }
        let twice = try memoryFile(Array("TNLS\u{1}\u{0}a\u{1}\u{0}\u{0}\u{0}b\u{1}\u{0}a\u{1}\u{0}\u{0}\u{0}c".utf8))
        #expect(throws: KeychainError.self) { _ = try PendingSecrets(readingBundle: twice) }
        let null = SharedDescriptor(OwnedDescriptor(adopting: unsafe Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)))
        #expect(throws: KeychainError.self) { _ = try PendingSecrets(readingBundle: null) }
    }

    private func checked(_ label: String, _ secrets: PendingSecrets) throws -> CheckedSecret {
        try Keychain.checkedSecret(label, of: secrets, kind: .privateKey, now: 0)
    }

    private func bundle(_ secrets: [String: String]) throws -> SharedDescriptor {
        let size = SecretBundle.byteCount(secrets.map { ($0.key, $0.value.utf8.count) })
        return SharedDescriptor(
            try unsafe MemoryFile.make(name: "test", count: size) { buffer in
                var writer = unsafe SecretBundle.Writer(into: buffer)
                for (label, secret) in secrets {
                    let bytes = Array(secret.utf8)
                    _ = unsafe bytes.withUnsafeBytes { unsafe writer.append(label: label, secret: $0) }
                }
            }
        )
    }

    private func memoryFile(_ bytes: [UInt8]) throws -> SharedDescriptor {
        SharedDescriptor(
            try unsafe MemoryFile.make(name: "test", count: bytes.count) { unsafe $0.copyBytes(from: bytes) }
        )
    }

    private func contents(of raw: Int32) throws -> [String: String] {
        var secrets: [String: String] = [:]
        let isWhole = try unsafe MemoryFile.withContents(of: raw, limit: 1 << 20) { buffer in
            unsafe SecretBundle.read(buffer) { label, secret in
                secrets[label] = unsafe String(decoding: secret, as: UTF8.self)
            }
        }
        #expect(isWhole)
        return secrets
    }
}
