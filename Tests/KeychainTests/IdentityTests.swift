import ControlAPI
import Glibc
import LinuxSystem
import TestSupport
import Testing
import TunnelCrypto

@testable import Keychain

/// PKCS#12 identities are opened before they are kept.
@Suite struct IdentityTests {
    private let temporary = TemporaryFolder()
    private let data: [UInt8]
    private let password = "wolf pässword"
    /// The certificate's first and last second, as PKCS12Tests have them.
    private let notBefore: Int64 = 1_796_028_620
    private let notAfter: Int64 = 1_796_028_620 + 365 * 86_400

    init() throws {
        let sibling = #filePath.replacing("/KeychainTests/", with: "/TunnelCryptoTests/")
        data = try #require(try HexFixture("pkcs12.hex", beside: sibling).records.first?["modern"])
    }

    @Test func `a good one is kept with its password, and says what it is`() throws {
        let checked = try check(data, password, now: notBefore)
        #expect(checked.identity?.subject == "CN=laptop,O=Example")
        #expect(checked.identity?.notAfter == Timestamp(seconds: notAfter))
        let keychain = try openKeychain(in: temporary)
        let reference = try keychain.add(checked, as: ItemHeader(owner: 0, kind: .identity, label: "x"))
        #expect(try keychain.secret(of: reference, ownedBy: 0).count == 2 + password.utf8.count + data.count)
    }

    @Test func `a wrong password, an expired certificate and what is no PKCS#12 are told before anything is kept`() {
        #expect(fault(data, "sheep", now: notBefore) == .identity(.wrongPassword))
        #expect(fault(data, nil, now: notBefore) == .identity(.wrongPassword))
        #expect(fault(data, password, now: notAfter + 1) == .identity(.expired(notAfter)))
        #expect(fault(data, password, now: notBefore - 1) == .identity(.notYetValid(notBefore)))
        #expect(fault(Array("-----BEGIN".utf8), password, now: notBefore) == .identity(.damaged))
    }

    @Test func `the same data as a secret of another kind are nobody's to open`() throws {
        #expect(try check(data, nil, kind: .password, now: 0).identity == nil)
    }

    private func check(
        _ data: [UInt8],
        _ password: String?,
        kind: SecretKind = .identity,
        now: Int64
    ) throws -> CheckedSecret {
        let label = KeychainCalls.secretLabel
        var entries = [(label: label, bytes: data)]
        if let password { entries.append((KeychainCalls.passwordLabel(of: label), Array(password.utf8))) }
        let size = SecretBundle.byteCount(entries.map { ($0.label, $0.bytes.count) })
        let file = try unsafe MemoryFile.make(name: "test", count: size) { buffer in
            var writer = unsafe SecretBundle.Writer(into: buffer)
            for entry in entries {
                _ = unsafe entry.bytes.withUnsafeBytes { unsafe writer.append(label: entry.label, secret: $0) }
            }
        }
        let secrets = try PendingSecrets(readingBundle: SharedDescriptor(file))
        return try Keychain.checkedSecret(label, of: secrets, kind: kind, now: now)
    }

    private func fault(_ data: [UInt8], _ password: String?, now: Int64) -> KeychainError? {
        do {
            _ = try check(data, password, now: now)
            return nil
        } catch {
            return error as? KeychainError
        }
    }
}
