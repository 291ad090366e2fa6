import ControlAPI
import Glibc
import LinuxSystem
import TestSupport
import Testing
import TunnelCrypto

@testable import Keychain

/// Items at rest: what lies on the disk, under which key, and what happens when the key or the file is another.
@Suite struct SealingTests {
    private let temporary = TemporaryFolder()
    private let header = ItemHeader(owner: 1000, kind: .sharedSecret, label: "home: psk")

    private var folder: String { temporary.path + "/keychain" }
    private var hostKey: String { "\(temporary.path)/\(HostKeys.fileName)" }

    @Test func `nothing of a secret lies on the disk, in any form`() throws {
        let marker = "MARKER-7f3a-a secret that is looked for"
        let reference = try openKeychain(in: temporary).add(secret(marker), as: header)
        let bytes = try FileSystem.contents(ofFile: path(reference), limit: 1 << 16)
        #expect(bytes.count == 32 + 9 + 24 + marker.utf8.count + 16)
        for length in [8, 16] {
            for start in stride(from: 0, to: marker.utf8.count - length, by: 4) {
                let run = Array(marker.utf8.dropFirst(start).prefix(length))
                #expect(!contains(bytes, run))
            }
        }
        #expect(try text(openKeychain(in: temporary), reference) == marker)
    }

    @Test func `what a memfd holds is sealed for one purpose, and opened whole or not at all`() throws {
        let keychain = try openKeychain(in: temporary)
        for text in ["", "MARKER-7f3a", String(repeating: "long ", count: 20_000)] {
            let bytes = Array(text.utf8)
            let sealed = try keychain.seal(memory(bytes), limit: 1 << 20, for: "a")
            #expect(sealed.count == 8 + 24 + bytes.count + 16)
            #expect(text.isEmpty || !contains(sealed, Array(bytes.prefix(8))))
            let opened = try keychain.openMemory(sealed, for: "a")
            let found = try unsafe MemoryFile.withContents(of: opened.raw, limit: 1 << 20) { unsafe Array($0) }
            #expect(found == bytes)
            let fault = KeychainError.damaged(reference: "b", "its seal doesn't fit")
            #expect(error { _ = try keychain.openMemory(sealed, for: "b") } == fault)
            for place in [8, 31, sealed.count - 1] {
                var damaged = sealed
                damaged[place] ^= 1
                #expect(throws: KeychainError.self) { try keychain.openMemory(damaged, for: "a") }
            }
            #expect(throws: KeychainError.self) { try keychain.openMemory(Array(sealed.prefix(40)), for: "a") }
        }
        let long = try memory([1, 2, 3])
        #expect(error { _ = try keychain.seal(long, limit: 2, for: "a") } == .system(SystemError(EFBIG, in: "fstat")))
        let sealed = try keychain.seal(long, limit: 3, for: "a")
        try AtomicFile.write([UInt8](repeating: 7, count: 32), to: hostKey, mode: 0o600)
        let other = KeychainError.sealedUnderAnotherKey(reference: "a")
        #expect(error { _ = try openKeychain(in: temporary).openMemory(sealed, for: "a") } == other)
    }

    private func memory(_ bytes: [UInt8]) throws -> SharedDescriptor {
        let file = try unsafe MemoryFile.make(name: "test", count: bytes.count) { unsafe $0.copyBytes(from: bytes) }
        return SharedDescriptor(file)
    }

    @Test func `the same secret is sealed otherwise each time`() throws {
        let keychain = try openKeychain(in: temporary)
        let a = try keychain.add(secret("wolf"), as: header)
        let b = try keychain.add(secret("wolf"), as: header)
        let ends = try [a, b].map { try FileSystem.contents(ofFile: path($0), limit: 1 << 16).suffix(44) }
        #expect(ends[0] != ends[1])
    }

    @Test func `the host key is made at first start, for root alone, and stays`() throws {
        let reference = try openKeychain(in: temporary).add(secret("wolf"), as: header)
        let key = try FileSystem.contents(ofFile: hostKey, limit: 100)
        #expect(key.count == 32 && mode(hostKey) == 0o600)
        #expect(try text(openKeychain(in: temporary), reference) == "wolf")
        #expect(try FileSystem.contents(ofFile: hostKey, limit: 100) == key)
    }

    @Test func `another host key is an error on the items sealed under the first, and on those alone`() throws {
        let old = try openKeychain(in: temporary).add(secret("wolf"), as: header)
        let key = try FileSystem.contents(ofFile: hostKey, limit: 100)
        try AtomicFile.write([UInt8](repeating: 7, count: 32), to: hostKey, mode: 0o600)
        let keychain = try openKeychain(in: temporary)
        #expect(keychain.problem == nil)
        let new = try keychain.add(secret("sheep"), as: header)
        #expect(try text(keychain, new) == "sheep")
        #expect(error { _ = try keychain.secret(of: old, ownedBy: nil) } == .sealedUnderAnotherKey(reference: "\(old)"))
        // What it is, is still told; nothing is deleted.
        #expect(try keychain.claimedHeader(of: old) == header)
        #expect(keychain.sealAll().incidents.count == 1)
        #expect(try keychain.references() == [old, new])
        try AtomicFile.write(key, to: hostKey, mode: 0o600)
        #expect(try text(openKeychain(in: temporary), old) == "wolf")
    }

    @Test(arguments: [0, 31, 33])
    func `a host key of another size locks the keychain and is left as it is`(size: Int) throws {
        let reference = try openKeychain(in: temporary).add(secret("wolf"), as: header)
        let broken = [UInt8](repeating: 1, count: size)
        try AtomicFile.write(broken, to: hostKey, mode: 0o600)
        let keychain = try openKeychain(in: temporary)
        let problem = "the host key \(hostKey) can't be used: it has \(size) bytes, not 32"
        #expect(keychain.problem == problem)
        #expect(error { _ = try keychain.secret(of: reference, ownedBy: nil) } == .locked(problem))
        #expect(error { _ = try keychain.add(secret("sheep"), as: header) } == .locked(problem))
        #expect(try FileSystem.contents(ofFile: hostKey, limit: 100) == broken)
        #expect(try keychain.references() == [reference])
    }

    @Test func `a credential is what seals, and what the file's key sealed goes over to it`() throws {
        let before = try openKeychain(in: temporary).add(secret("wolf"), as: header)
        let credentials = TemporaryFolder()
        let credential = "\(credentials.path)/tunneld.host-key"
        try AtomicFile.write([UInt8](repeating: 9, count: 32), to: credential, mode: 0o400)
        let sealing = try openKeychain(in: temporary, credentials: credentials.path)
        #expect(try text(sealing, before) == "wolf")
        #expect(sealing.sealAll().sealed == 1)
        #expect(sealing.sealAll().sealed == 0)
        _ = unsafe unlink(hostKey)
        let alone = try openKeychain(in: temporary, credentials: credentials.path)
        #expect(try text(alone, before) == "wolf")
        #expect(mode(hostKey) == 0, "no file is made beside a credential")
        // Without the credential the item waits for it.
        let without = try openKeychain(in: temporary)
        #expect(
            error { _ = try without.secret(of: before, ownedBy: nil) } == .sealedUnderAnotherKey(reference: "\(before)")
        )
    }

    @Test func `a credential that can't be used is not replaced by another key`() throws {
        let credentials = TemporaryFolder()
        try AtomicFile.write([1, 2, 3], to: "\(credentials.path)/tunneld.host-key", mode: 0o400)
        let keychain = try openKeychain(in: temporary, credentials: credentials.path)
        #expect(keychain.problem == "the credential tunneld.host-key can't be used: it has 3 bytes, not 32")
        #expect(throws: KeychainError.self) { _ = try keychain.add(secret("wolf"), as: header) }
        #expect(mode(hostKey) == 0)
    }

    @Test func `a host key that others could read is theirs no longer`() throws {
        try AtomicFile.write([UInt8](repeating: 7, count: 32), to: hostKey, mode: 0o644)
        _ = try openKeychain(in: temporary)
        #expect(mode(hostKey) == 0o600)
    }

    @Test func `every changed bit of a sealed file is found`() throws {
        let keychain = try openKeychain(in: temporary)
        let reference = try keychain.add(secret("wolf"), as: header)
        let whole = try FileSystem.contents(ofFile: path(reference), limit: 1 << 16)
        for index in whole.indices {
            var bytes = whole
            bytes[index] ^= 1
            try AtomicFile.write(bytes, to: path(reference), mode: 0o600)
            #expect(throws: KeychainError.self, "byte \(index)") {
                _ = try keychain.secret(of: reference, ownedBy: 1000)
            }
        }
        #expect(try keychain.references() == [reference])
    }

    @Test func `a file doesn't pass for another item`() throws {
        let keychain = try openKeychain(in: temporary)
        let a = try keychain.add(secret("wolf"), as: header)
        let b = try keychain.add(secret("sheep"), as: header)
        let bytes = try FileSystem.contents(ofFile: path(a), limit: 1 << 16)
        try AtomicFile.write(bytes, to: path(b), mode: 0o600)
        #expect(
            error { _ = try keychain.secret(of: b, ownedBy: nil) }
                == .damaged(reference: "\(b)", "it was changed after it was sealed")
        )
    }

    // MARK: The format before

    /// Owner 1000, a private key, "home", "wolf".
    private let plain: [UInt8] =
        Array("TNKI".utf8) + [1, 2, 4, 0, 0xe8, 3, 0, 0, 4, 0, 0, 0] + Array("homewolf".utf8)

    @Test func `an item without a seal is read, and sealed at the next start`() throws {
        let reference = try #require(ItemReference("keychain:00112233445566778899aabbccddeeff"))
        let keychain = try openKeychain(in: temporary)
        try AtomicFile.write(plain, to: path(reference), mode: 0o600)
        #expect(try text(keychain, reference) == "wolf")
        let (sealed, incidents) = keychain.sealAll()
        #expect(sealed == 1 && incidents.isEmpty)
        let bytes = try FileSystem.contents(ofFile: path(reference), limit: 1 << 16)
        #expect(bytes[4] == 2 && !contains(bytes, Array("wolf".utf8)))
        let header = ItemHeader(owner: 1000, kind: .privateKey, label: "home", isPartOfConfiguration: true)
        #expect(try keychain.header(of: reference, ownedBy: 1000) == header)
        #expect(try text(keychain, reference) == "wolf")
        #expect(keychain.sealAll().sealed == 0)
    }

    @Test func `an item whose secret is empty is told as such when it is needed`() throws {
        let reference = try #require(ItemReference("keychain:00112233445566778899aabbccddeeff"))
        let keychain = try openKeychain(in: temporary)
        let empty = Array("TNKI".utf8) + [1, 2, 4, 0, 0xe8, 3, 0, 0, 0, 0, 0, 0] + Array("home".utf8)
        try AtomicFile.write(empty, to: path(reference), mode: 0o600)
        #expect(
            error { _ = try keychain.secret(of: reference, ownedBy: nil) }
                == .damaged(reference: "\(reference)", "its secret is empty")
        )
    }

    @Test func `a crash while an item is sealed leaves it whole, before or after`() throws {
        let reference = try #require(ItemReference("keychain:00112233445566778899aabbccddeeff"))
        let scratch = try openKeychain(in: temporary)
        try AtomicFile.write(plain, to: path(reference), mode: 0o600)
        _ = scratch.sealAll()
        let sealed = try FileSystem.contents(ofFile: path(reference), limit: 1 << 16)
        for written in 0...sealed.count {
            // The old file, and a temporary one of this length.
            try AtomicFile.write(plain, to: path(reference), mode: 0o600)
            try writeInPlace(Array(sealed.prefix(written)), path(reference) + AtomicFile.temporarySuffix)
            let next = try openKeychain(in: temporary)
            #expect(try text(next, reference) == "wolf")
            #expect(next.sealAll().sealed == 1)
            #expect(try text(next, reference) == "wolf")
            #expect(try FileSystem.names(inFolder: folder).count == 1)
        }
    }

    @Test func `a locked keychain leaves items without a seal readable`() throws {
        let reference = try #require(ItemReference("keychain:00112233445566778899aabbccddeeff"))
        try AtomicFile.write([1], to: hostKey, mode: 0o600)
        let keychain = try openKeychain(in: temporary)
        try AtomicFile.write(plain, to: path(reference), mode: 0o600)
        #expect(keychain.sealAll().sealed == 0)
        #expect(try text(keychain, reference) == "wolf")
    }

    // MARK: A keychain that fails

    @Test func `a busy, denied or vanished item is told as such, and can be had again`() throws {
        let failing = Failing()
        let keychain = try Keychain(
            folder: folder,
            keys: HostKeys.load(credentials: nil, state: temporary.path),
            opener: { (path) throws(SystemError) in try failing.open(path) }
        )
        let reference = try keychain.add(secret("wolf"), as: header)
        for code in [EAGAIN, EACCES, EMFILE, EIO] {
            failing.code = code
            let expected = KeychainError.unreadable(reference: "\(reference)", SystemError(code, in: "open"))
            #expect(error { _ = try keychain.secret(of: reference, ownedBy: 1000) } == expected)
            #expect(expected.mayPass)
        }
        failing.code = ENOENT
        #expect(error { _ = try keychain.secret(of: reference, ownedBy: 1000) } == .notFound(reference: "\(reference)"))
        failing.code = 0
        #expect(try text(keychain, reference) == "wolf")
    }

    @Test func `what is no regular file isn't waited for`() throws {
        let keychain = try openKeychain(in: temporary)
        let reference = try #require(ItemReference("keychain:00112233445566778899aabbccddeeff"))
        try #require(unsafe mkfifo(path(reference), 0o600) == 0)
        #expect(
            error { _ = try keychain.secret(of: reference, ownedBy: nil) }
                == .damaged(reference: "\(reference)", "it isn't a regular file")
        )
        _ = unsafe unlink(path(reference))
        try #require(unsafe symlink("/etc/hostname", path(reference)) == 0)
        #expect(
            error { _ = try keychain.secret(of: reference, ownedBy: nil) }
                == .damaged(reference: "\(reference)", "it isn't a regular file")
        )
    }

    // MARK: Helpers

    private func path(_ reference: ItemReference) -> String { "\(folder)/\(reference.name)" }

    private func writeInPlace(_ bytes: [UInt8], _ path: String) throws {
        let raw = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0o600)
        let file = OwnedDescriptor(adopting: raw)
        try AtomicFile.writeAll(unsafe bytes.span.bytes, to: file.raw)
    }

    private func error(_ body: () throws -> Void) -> KeychainError? {
        do {
            try body()
            return nil
        } catch {
            return error as? KeychainError
        }
    }

    private func contains(_ bytes: [UInt8], _ run: [UInt8]) -> Bool {
        guard bytes.count >= run.count else { return false }
        return (0...bytes.count - run.count).contains { Array(bytes[$0..<$0 + run.count]) == run }
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }
}

/// Opens files, or fails as it is told.
private final class Failing: @unchecked Sendable {  // One test's thread alone uses it.
    var code: Int32 = 0

    func open(_ path: String) throws(SystemError) -> OwnedDescriptor {
        guard code == 0 else { throw SystemError(code, in: "open") }
        return OwnedDescriptor(adopting: try check("open") { unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC) })
    }
}
