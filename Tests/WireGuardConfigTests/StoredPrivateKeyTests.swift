import Testing
import WireGuardConfig

@Suite struct StoredPrivateKeyTests {
    private let file = Array("[Interface]\nAddress = 10.0.0.1/24\n".utf8)

    @Test func `a file without a private key takes the stored one where there is one`() throws {
        let result = try ConfigurationReader.read(file, storedPrivateKey: "item-1")
        #expect(result.configuration.privateKeyReference == "item-1")
        #expect(result.report.privateKeys == 0)
    }

    @Test func `a file without a private key is refused where none is stored`() throws {
        let errors = try #require(throws: ImportErrors.self) { _ = try ConfigurationReader.read(file) }
        #expect(errors.errors.map(\.line) == [1])
        #expect(errors.errors.first?.reason == "this [Interface] has no PrivateKey")
    }

    @Test func `a private key in the file counts more than the stored one`() throws {
        let key = "PrivateKey = \(String(repeating: "A", count: 42))E=\n"
        let result = try ConfigurationReader.read(file + Array(key.utf8), storedPrivateKey: "item-1")
        #expect(result.configuration.privateKeyReference == SecretPlaceholder.privateKey)
        #expect(result.report.privateKeys == 1)
    }
}
