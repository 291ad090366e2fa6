import TestSupport
import Testing
import TunnelCrypto

@Suite struct PKCS12Tests {
    private let files: HexFixture.Record
    private let password = "wolf pässword"
    /// 2026-11-30 08:50:20 and a year later, as `openssl x509 -dates` has it.
    private let notBefore: Int64 = 1_796_028_620
    private let notAfter: Int64 = 1_796_028_620 + 365 * 86_400

    init() throws { files = try #require(try HexFixture("pkcs12.hex").records.first) }

    @Test(arguments: ["modern", "legacy", "nomac"])
    func `an identity opens with its password`(name: String) throws {
        let identity = try open(name, password)
        #expect(identity.subject == "CN=laptop,O=Example")
        #expect(identity.notBefore == notBefore && identity.notAfter == notAfter)
    }

    @Test(arguments: ["empty", "bare"])
    func `an identity without a password opens with an empty one`(name: String) throws {
        #expect(try open(name, "").subject == "CN=laptop,O=Example")
    }

    @Test(arguments: ["modern", "legacy", "nomac", "empty", "nokey", "nocert"], ["sheep", "wolf password", "x"])
    func `a wrong password is told`(name: String, password: String) {
        #expect(fault(name, password) == .wrongPassword)
    }

    @Test func `an empty password where there is one, and a zero in it, are told`() {
        #expect(fault("modern", "") == .wrongPassword)
        #expect(fault("modern", "wolf\0") == .passwordHasZero)
    }

    @Test func `what lacks its key or its certificate is told`() {
        #expect(fault("nokey", password) == .noPrivateKey)
        #expect(fault("nocert", password) == .noCertificate)
    }

    @Test func `a certificate serves from its first second to its last`() throws {
        #expect(fault("modern", password, now: notBefore - 1) == .notYetValid(notBefore))
        #expect(fault("modern", password, now: notBefore) == nil)
        #expect(fault("modern", password, now: notAfter) == nil)
        #expect(fault("modern", password, now: notAfter + 1) == .expired(notAfter))
    }

    @Test func `more rounds than anybody needs are not done`() {
        let clock = ContinuousClock()
        let took = clock.measure { #expect(fault("greedy", password) == .tooManyIterations) }
        #expect(took < .milliseconds(500))
    }

    @Test func `data cut anywhere, or with more behind them, are damaged`() throws {
        let whole = try #require(files["modern"])
        for length in 0..<whole.count {
            #expect(fault(Array(whole.prefix(length)), password) == .damaged, "cut to \(length)")
        }
        #expect(fault(whole + [0], password) == .damaged)
        #expect(fault(Array("-----BEGIN PRIVATE KEY-----".utf8), password) == .damaged)
    }

    @Test func `no changed byte is taken for good or ends the process`() throws {
        let whole = try #require(files["modern"])
        var faults: [PKCS12Fault: Int] = [:]
        for index in whole.indices {
            for bit in [0x01, 0x80] as [UInt8] {
                var bytes = whole
                bytes[index] ^= bit
                if let fault = fault(bytes, password) { faults[fault, default: 0] += 1 }
            }
        }
        // Most are found by the code of authentication; a few bytes (a zero's sign, a name) mean nothing.
        #expect(faults[.wrongPassword, default: 0] > whole.count)
        #expect(faults.values.reduce(0, +) > 2 * whole.count - 40)
    }

    private func open(_ name: String, _ password: String) throws -> PKCS12Identity {
        let bytes = try #require(files[name])
        return try PKCS12Identity(
            opening: bytes.raw,
            password: SecretBytes(copying: Array(password.utf8).raw),
            now: notBefore + 1000
        )
    }

    private func fault(_ name: String, _ password: String, now: Int64? = nil) -> PKCS12Fault? {
        fault(files[name] ?? [], password, now: now)
    }

    private func fault(_ bytes: [UInt8], _ password: String, now: Int64? = nil) -> PKCS12Fault? {
        do throws(PKCS12Fault) {
            _ = try PKCS12Identity(
                opening: bytes.raw,
                password: SecretBytes(copying: Array(password.utf8).raw),
                now: now ?? notBefore + 1000
            )
            return nil
        } catch {
            return error
        }
    }
}
