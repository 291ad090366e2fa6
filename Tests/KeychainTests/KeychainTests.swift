import ControlAPI
import Glibc
import LinuxSystem
import Testing
import TunnelCrypto

@testable import Keychain

@Suite struct KeychainTests {
    private let temporary = TemporaryFolder()
    private let header = ItemHeader(
        owner: 1000,
        kind: .privateKey,
        label: "home: private key",
        isPartOfConfiguration: true
    )

    private func open() throws -> Keychain { try openKeychain(in: temporary) }

    @Test func `a secret comes back by its reference, from another keychain object too`() throws {
        let reference = try open().add(secret("wolf"), as: header)
        let again = try #require(ItemReference(reference.description))
        #expect(try text(open(), again) == "wolf")
        #expect(try open().header(of: again, ownedBy: 1000) == header)
    }

    @Test func `files are for root only`() throws {
        let keychain = try open()
        let reference = try keychain.add(secret("wolf"), as: header)
        #expect(mode(temporary.path + "/keychain") == 0o700)
        #expect(mode("\(temporary.path)/keychain/\(reference.name)") == 0o600)
    }

    @Test func `what a crash left of an item is removed at the next start`() throws {
        _ = try open()
        let path = temporary.path + "/keychain/0123456789abcdef0123456789abcdef"
        try AtomicFile.write([1], to: path + AtomicFile.temporarySuffix, mode: 0o600)
        #expect(try open().references().isEmpty)
        #expect(try FileSystem.names(inFolder: temporary.path + "/keychain").isEmpty)
    }

    @Test func `an item serves its owner alone`() throws {
        let keychain = try open()
        let reference = try keychain.add(secret("wolf"), as: header)
        #expect(throws: KeychainError.notFound(reference: reference.description)) {
            _ = try keychain.secret(of: reference, ownedBy: 1001)
        }
        #expect(try keychain.secret(of: reference, ownedBy: 1000).count == 4)
    }

    @Test func `an empty secret and one beyond the limit are refused`() throws {
        let keychain = try open()
        #expect(throws: KeychainError.emptySecret(label: header.label)) { _ = try keychain.add(secret(""), as: header) }
        let limit = ItemHeader.secretLimit
        #expect(throws: KeychainError.secretTooLong(label: header.label, limit: limit)) {
            _ = try keychain.add(SecretBytes(zeroCount: limit + 1), as: header)
        }
        let largest = try keychain.add(SecretBytes(zeroCount: limit), as: header)
        #expect(try keychain.secret(of: largest, ownedBy: nil).count == limit)
    }

    @Test func `a removed item is gone, and removing it again is no error`() throws {
        let keychain = try open()
        let reference = try keychain.add(secret("wolf"), as: header)
        try keychain.remove(reference)
        try keychain.remove(reference)
        #expect(throws: KeychainError.notFound(reference: reference.description)) {
            _ = try keychain.secret(of: reference, ownedBy: nil)
        }
        #expect(try keychain.references().isEmpty)
    }

    @Test(arguments: [0, 4, 15, 16, 31, 32, 49, 92])
    func `a file cut short is damaged, stays, and shows nothing`(length: Int) throws {
        let keychain = try open()
        let reference = try keychain.add(secret("wolf"), as: header)
        let path = "\(temporary.path)/keychain/\(reference.name)"
        let whole = try FileSystem.contents(ofFile: path, limit: 1 << 10)
        try AtomicFile.write(Array(whole.prefix(length)), to: path, mode: 0o600)
        #expect {
            _ = try keychain.secret(of: reference, ownedBy: nil)
        } throws: { error in
            guard case .damaged = error as? KeychainError else { return false }
            return !"\(error)".contains("wol")
        }
        #expect(try keychain.references() == [reference])
    }

    @Test(arguments: [0, 4, 5, 7, 15, 16, 20])
    func `a header that isn't ours is damaged`(position: Int) throws {
        let keychain = try open()
        let reference = try keychain.add(secret("wolf"), as: header)
        let path = "\(temporary.path)/keychain/\(reference.name)"
        var bytes = try FileSystem.contents(ofFile: path, limit: 1 << 10)
        bytes[position] = 0xff
        try AtomicFile.write(bytes, to: path, mode: 0o600)
        #expect {
            _ = try keychain.secret(of: reference, ownedBy: nil)
        } throws: { error in
            guard case .damaged = error as? KeychainError else { return false }
            return true
        }
    }

    @Test(
        arguments: [
            "", "keychain:", "keychain:../../../etc/shadow", "keychain:0123456789ABCDEF0123456789ABCDEF",
            "0123456789abcdef0123456789abcdef", "keychain:0123456789abcdef0123456789abcdef0",
        ]
    )
    func `what is no reference leads to no file`(text: String) {
        #expect(ItemReference(text) == nil)
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }
}
