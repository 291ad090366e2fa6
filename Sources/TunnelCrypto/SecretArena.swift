import CSodium
import Glibc
package import LinuxSystem
import Synchronization

/// The one place in memory where the process keeps secrets: locked (never swapped), left out of core dumps and of
/// children, between pages that nobody may touch, and wiped piece by piece as it is given back.
///
/// `sodium_malloc` would take four pages for each key and stop locking without a word once `RLIMIT_MEMLOCK` is reached;
/// here many keys share a page, and memory that can't be locked is told. It is used all the same: a tunnel that doesn't
/// run because of a limit protects nobody's key.
package final class SecretArena: Sendable {
    /// That of the process.
    package static let shared = SecretArena()

    /// Bytes of a block, which is less than the least `RLIMIT_MEMLOCK` that is usual (64 KiB of kernels before 5.16).
    static let blockBytes = 32 << 10
    /// What a secret takes is a multiple of this, and so is its address.
    static let granuleBytes = 16
    /// What the soft limit is raised to.
    static let wantedLimit: UInt = 64 << 20

    private let state: Mutex<State>

    /// Locks the pages at an address; an error where the system refuses.
    typealias Lock = @Sendable (_ start: UInt, _ count: Int) -> SystemError?

    package convenience init() {
        self.init { start, count in
            LockedMemoryLimit.raise(to: Self.wantedLimit)
            // Leaves them out of core dumps, too.
            guard let pointer = unsafe UnsafeMutableRawPointer(bitPattern: start) else { return nil }
            return unsafe sodium_mlock(pointer, count) == 0 ? nil : SystemError(errno, in: "mlock")
        }
    }

    /// For a test: locks as it says.
    init(lock: @escaping Lock) { state = Mutex(State(lock: lock)) }

    /// What arises where memory can't be locked.
    package typealias LockFailure = @Sendable (SystemError) -> Void

    /// Sets who is told, once, that memory can't be locked; at once where that has happened already.
    package func onLockFailure(_ body: @escaping LockFailure) {
        let failure = state.withLock { state in
            state.onLockFailure = body
            return state.lockFailure
        }
        if let failure { body(failure) }
    }

    /// Why some of the memory isn't locked, or nil.
    package var lockFailure: SystemError? { state.withLock(\.lockFailure) }

    /// Memory of zero bytes, for one owner.
    package func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
        precondition(byteCount >= 0, "a secret has no negative length")
        let granules = (max(byteCount, 1) + Self.granuleBytes - 1) / Self.granuleBytes
        let (address, report) = state.withLock { $0.allocate(granules) }
        report?()
        guard let pointer = unsafe UnsafeMutableRawPointer(bitPattern: address) else {
            preconditionFailure("no memory")
        }
        return unsafe pointer
    }

    /// Wipes memory and takes it back.
    ///
    /// - Parameter byteCount: as it was asked for.
    package func free(_ pointer: UnsafeMutableRawPointer, byteCount: Int) {
        let granules = (max(byteCount, 1) + Self.granuleBytes - 1) / Self.granuleBytes
        unsafe sodium_memzero(pointer, granules * Self.granuleBytes)
        state.withLock { $0.free(UInt(bitPattern: pointer), granules) }
    }

    /// Addresses are numbers here, so that the state may be sent under its lock.
    private struct State {
        let lock: Lock
        var blocks: [SecretBlock] = []
        var lockFailure: SystemError?
        var onLockFailure: LockFailure?

        mutating func allocate(_ granules: Int) -> (address: UInt, report: (() -> Void)?) {
            for index in blocks.indices {
                if let address = blocks[index].take(granules) { return (address, nil) }
            }
            // A large secret has a block of its own size.
            var block = SecretBlock(bytes: max(SecretArena.blockBytes, granules * SecretArena.granuleBytes))
            let failure = block.lock(lock)
            guard let address = block.take(granules) else { preconditionFailure("a new block has room") }
            blocks.append(block)
            guard let failure, lockFailure == nil else { return (address, nil) }
            lockFailure = failure
            let told = onLockFailure
            return (address, told.map { told in { told(failure) } })
        }

        mutating func free(_ address: UInt, _ granules: Int) {
            guard let index = blocks.firstIndex(where: { $0.contains(address) }) else {
                preconditionFailure("this is no memory of the arena")
            }
            blocks[index].giveBack(address, granules)
            // The first stays, so that a lone secret that comes and goes costs no system call.
            if index > 0, blocks[index].isEmpty { blocks.remove(at: index).unmap() }
        }
    }
}

/// Some pages of the arena, and which of their granules are taken.
private struct SecretBlock {
    private let start: UInt
    private let granuleCount: Int
    private var taken: [Bool]
    private var takenCount = 0
    /// Where to look first.
    private var next = 0

    /// Maps pages with one that can't be touched before and behind them.
    init(bytes: Int) {
        let page = Int(getpagesize())
        let inner = (bytes + page - 1) / page * page
        guard
            let base = unsafe mmap(
                nil,
                inner + 2 * page,
                PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1,
                0
            ),
            unsafe base != MAP_FAILED, unsafe mprotect(base + page, inner, PROT_READ | PROT_WRITE) == 0
        else { preconditionFailure("no memory for secrets") }
        // A child that is to run another program has no use for them.
        _ = unsafe madvise(base + page, inner, MADV_DONTFORK)
        start = unsafe UInt(bitPattern: base + page)
        granuleCount = inner / SecretArena.granuleBytes
        taken = [Bool](repeating: false, count: granuleCount)
    }

    func lock(_ lock: SecretArena.Lock) -> SystemError? { lock(start, granuleCount * SecretArena.granuleBytes) }

    var isEmpty: Bool { takenCount == 0 }

    func contains(_ address: UInt) -> Bool {
        address >= start && address < start + UInt(granuleCount * SecretArena.granuleBytes)
    }

    /// The address of so many granules in a row; nil where there aren't any.
    mutating func take(_ count: Int) -> UInt? {
        guard granuleCount - takenCount >= count else { return nil }
        guard let first = run(of: count, from: next) ?? run(of: count, from: 0) else { return nil }
        for index in first..<first + count { taken[index] = true }
        takenCount += count
        next = first + count
        return start + UInt(first * SecretArena.granuleBytes)
    }

    private func run(of count: Int, from begin: Int) -> Int? {
        var length = 0
        var index = begin
        while index < granuleCount {
            length = taken[index] ? 0 : length + 1
            index += 1
            if length == count { return index - count }
        }
        return nil
    }

    mutating func giveBack(_ address: UInt, _ count: Int) {
        let first = Int(address - start) / SecretArena.granuleBytes
        for index in first..<first + count {
            precondition(taken[index], "this memory was given back before")
            taken[index] = false
        }
        takenCount -= count
        next = first
    }

    func unmap() {
        let page = UInt(getpagesize())
        let inner = granuleCount * SecretArena.granuleBytes
        guard let base = unsafe UnsafeMutableRawPointer(bitPattern: start - page) else { return }
        unsafe munmap(base, inner + 2 * Int(page))
    }
}
