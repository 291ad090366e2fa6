import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import TunnelCrypto

@Suite struct SecretArenaTests {
    /// What /proc says of locked memory; nothing under a sanitizer, whose run time has an mlock that locks nothing.
    private static let locked: Set<Substring> =
        unsafe dlsym(nil, "__tsan_init") == nil && dlsym(nil, "__asan_init") == nil ? ["lo"] : []

    @Test func `many keys share pages, all of them locked and out of core dumps`() throws {
        let arena = SecretArena()
        let keys = (0..<1000).map { _ in unsafe UInt(bitPattern: arena.allocate(byteCount: 32)) }
        #expect(Set(keys).count == 1000)
        let pages = Set(keys.map { $0 / 4096 })
        #expect(pages.count == 8, "32 bytes each in pages of 4 KiB")
        for page in pages {
            let flags = try #require(Self.flags(of: page * 4096))
            #expect(flags.isSuperset(of: Self.locked.union(["dd", "dc"])))
        }
        #expect(arena.lockFailure == nil)
        for key in keys {
            guard let pointer = unsafe UnsafeMutableRawPointer(bitPattern: key) else { continue }
            unsafe arena.free(pointer, byteCount: 32)
        }
    }

    @Test func `memory is zero when it is given, and again when it is given back`() throws {
        let arena = SecretArena()
        let neighbour = unsafe arena.allocate(byteCount: 16)
        unsafe neighbour.storeBytes(of: 7, as: UInt8.self)
        for count in [1, 15, 16, 17, 32, 100] {
            let memory = unsafe arena.allocate(byteCount: count)
            #expect((0..<count).allSatisfy { unsafe memory.load(fromByteOffset: $0, as: UInt8.self) == 0 })
            for index in 0..<count { unsafe memory.storeBytes(of: 0xaa, toByteOffset: index, as: UInt8.self) }
            unsafe arena.free(memory, byteCount: count)
            #expect((0..<count).allSatisfy { unsafe memory.load(fromByteOffset: $0, as: UInt8.self) == 0 })
        }
        #expect(unsafe neighbour.load(as: UInt8.self) == 7)
        unsafe arena.free(neighbour, byteCount: 16)
    }

    @Test func `a large secret has pages of its own, which go with it`() throws {
        let arena = SecretArena()
        let small = unsafe arena.allocate(byteCount: 32)
        let large = unsafe arena.allocate(byteCount: 256 << 10)
        let address = UInt(bitPattern: large)
        #expect(Self.flags(of: address)?.isSuperset(of: Self.locked) == true)
        unsafe arena.free(large, byteCount: 256 << 10)
        #expect(Self.flags(of: address)?.contains("lo") != true)
        unsafe arena.free(small, byteCount: 32)
    }

    @Test func `memory that was given back is given again, and what is used twice isn't`() {
        let arena = SecretArena()
        var random = SecureRandom()
        var live: [(pointer: UInt, count: Int, mark: UInt8)] = []
        for round in 0..<4000 {
            if live.count > 100 || (round % 3 == 2 && !live.isEmpty) {
                let (address, count, mark) = live.remove(at: Int.random(in: 0..<live.count, using: &random))
                guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: address) else { continue }
                #expect((0..<count).allSatisfy { unsafe memory.load(fromByteOffset: $0, as: UInt8.self) == mark })
                unsafe arena.free(memory, byteCount: count)
            } else {
                let count = Int.random(in: 1...200, using: &random)
                let memory = unsafe arena.allocate(byteCount: count)
                let mark = UInt8(truncatingIfNeeded: round)
                for index in 0..<count { unsafe memory.storeBytes(of: mark, toByteOffset: index, as: UInt8.self) }
                live.append((UInt(bitPattern: memory), count, mark))
            }
        }
    }

    @Test func `memory that can't be locked is told once, early or late, and serves all the same`() {
        let arena = SecretArena { _, _ in SystemError(ENOMEM, in: "mlock") }
        let told = Mutex<[SystemError]>([])
        arena.onLockFailure { error in told.withLock { $0.append(error) } }
        for _ in 0..<3000 { unsafe arena.allocate(byteCount: 32).storeBytes(of: 1, as: UInt8.self) }
        #expect(told.withLock(\.self) == [SystemError(ENOMEM, in: "mlock")])
        arena.onLockFailure { error in told.withLock { $0.append(error) } }
        #expect(told.withLock(\.count) == 2)
        #expect(arena.lockFailure?.code == ENOMEM)
    }

    /// The flags of the mapping at an address, as proc(5) has them: lo locked, dd not dumped, dc not copied by fork.
    private static func flags(of address: UInt) -> Set<Substring>? {
        guard let bytes = try? FileSystem.contents(ofFile: "/proc/self/smaps", limit: 16 << 20) else { return nil }
        var isInside = false
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            if let range = line.split(separator: " ").first?.split(separator: "-"), range.count == 2,
                let start = UInt(range[0], radix: 16), let end = UInt(range[1], radix: 16)
            {
                isInside = (start..<end).contains(address)
            }
            if isInside, line.hasPrefix("VmFlags:") { return Set(line.split(separator: " ").dropFirst()) }
        }
        return nil
    }
}
