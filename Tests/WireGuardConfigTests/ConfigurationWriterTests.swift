import NetworkTypes
import Testing
import WireGuardConfig

@Suite struct ConfigurationWriterTests {
    @Test func `a file with its secrets is canonical`() throws {
        let result = try ConfigurationReader.read(Array(Sample.whole.lowercasedKeys.utf8))
        let text = String(
            decoding: try ConfigurationWriter.bytes(of: result.configuration, with: result.secrets),
            as: UTF8.self
        )
        #expect(text == Sample.whole)
    }

    @Test func `without secrets the key lines are left out, and comments say so`() throws {
        let text = ConfigurationWriter.text(of: try Reading(Sample.whole).configuration)
        let note = { (key: String) in "# \(key) is left out: export with --with-secrets to have it." }
        var expected = Sample.whole.replacing("PrivateKey = \(Sample.privateKey)", with: note("PrivateKey"))
        for key in Sample.presharedKeys {
            expected = expected.replacing("PresharedKey = \(key)", with: note("PresharedKey"))
        }
        #expect(text == expected)
    }

    @Test func `a secret that isn't there is an error that names its reference`() throws {
        let configuration = try Reading(Sample.whole).configuration
        var secrets = ConfigurationSecrets()
        secrets.insert(Sample.bytes(Sample.privateKey), for: "new:private-key")
        var missing: ConfigurationWriter.MissingSecret?
        do {
            _ = try ConfigurationWriter.bytes(of: configuration, with: secrets)
        } catch {
            missing = error
        }
        #expect(missing?.reference == "new:preshared-key-1")
    }

    @Test func `a long list goes on over several lines, which read back as one list`() throws {
        let key = try #require(WireGuardPublicKey(Sample.peers[0]))
        let prefixes = (0..<10_000 as Range<UInt32>).map { IPPrefix(host: .v4(IPv4Address(0x0a00_0000 + $0))) }
        let configuration = WireGuardConfiguration(
            privateKeyReference: SecretPlaceholder.privateKey,
            peers: [.init(publicKey: key, allowedIPs: prefixes)]
        )
        var secrets = ConfigurationSecrets()
        secrets.insert(Sample.bytes(Sample.privateKey), for: SecretPlaceholder.privateKey)
        let file = try ConfigurationWriter.bytes(of: configuration, with: secrets)
        #expect(file.split(separator: 0x0a).allSatisfy { $0.count <= 1050 })
        #expect(try Reading(file).configuration == configuration)
    }

    @Test func `the longest hook of a file is exported within the limit of a line`() throws {
        let longest = "PostDown=" + String(repeating: "x", count: 65_500)
        let configuration = try Reading(Sample.file(interface: longest)).configuration
        let text = ConfigurationWriter.text(of: configuration)
        #expect(text.split(separator: "\n").allSatisfy { $0.utf8.count <= ConfigurationReader.maximumLineBytes })
        #expect(
            errors(of: Sample.file(interface: longest + "x")) == [
                "line 3, column 10: PostDown: is longer than 65500 bytes."
            ]
        )
    }
}

extension String {
    /// The file with its keys in lower case, to be made canonical again.
    fileprivate var lowercasedKeys: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.prefix { $0 != "=" }.lowercased() + line.drop { $0 != "=" }
        }.joined(separator: "\n")
    }
}
