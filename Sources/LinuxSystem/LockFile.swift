import Glibc
import Synchronization

/// A lock that ends with its process, whatever way that goes: flock(2) on a file.
package final class LockFile: Sendable {
    /// Another process has the lock.
    package struct Held: Error, Equatable, Sendable, CustomStringConvertible {
        package let path: String
        /// The holder's process id as it wrote it; nil when it hasn't yet.
        package let process: Int32?

        package var description: String { "process \(process.map(String.init) ?? "unknown") holds \(path)" }
    }

    package enum Failure: Error, Equatable, Sendable, CustomStringConvertible {
        case held(Held)
        case system(SystemError)

        package var description: String {
            switch self {
            case .held(let held): held.description
            case .system(let error): error.description
            }
        }
    }

    private let path: String
    private let removesFile: Bool
    private let descriptor: Mutex<OwnedDescriptor?>

    /// How long a lock is waited for whose holder has ended, in milliseconds: far more than a child's start takes.
    private static let inheritance = 5000
    /// How long one is waited for whose holder lives.
    private static let farewell = 500

    /// Takes the lock, or says who has it; the file stays behind, so that all starters lock the same one.
    ///
    /// A holder that was killed while it started a child leaves the lock to that child, until its program begins.
    package static func acquire(path: String) throws(Failure) -> LockFile {
        var process: Int32?
        for attempt in 0...inheritance / 5 {
            do throws(SystemError) {
                if let lock = try LockFile(path: path, removesFile: false) { return lock }
            } catch {
                throw .system(error)
            }
            process = holder(of: path)
            // One that lives has it for good, unless it was killed and is about to end; one that took it just now hasn't
            // written yet who it is.
            if let process, (try? ProcessDescriptor(pid: process))?.hasEnded == false, attempt >= farewell / 5 { break }
            usleep(5000)
        }
        throw .held(Held(path: path, process: process))
    }

    /// Takes the lock as soon as it is free; the file goes with the lock.
    ///
    /// - Throws: ETIMEDOUT when it doesn't become free.
    static func transient(path: String, patienceMilliseconds: Int) throws(SystemError) -> LockFile {
        for _ in 0...patienceMilliseconds / 5 {
            if let lock = try LockFile(path: path, removesFile: true) { return lock }
            usleep(5000)
        }
        throw SystemError(ETIMEDOUT, in: "flock")
    }

    /// Nil when another process has it.
    private init?(path: String, removesFile: Bool) throws(SystemError) {
        self.path = path
        self.removesFile = removesFile
        while true {
            let file = OwnedDescriptor(adopting: try Self.open(path))
            let raw = file.raw
            do throws(SystemError) {
                try check("flock") { flock(raw, LOCK_EX | LOCK_NB) }
            } catch {
                if error.code == EWOULDBLOCK { return nil }
                throw error
            }
            // A holder that removed the file on leaving left us with a lock on a file that nobody else will find.
            guard Self.leads(path, to: raw) else { continue }
            Self.write(getpid(), to: raw)
            descriptor = Mutex(file)
            return
        }
    }

    /// Gives the lock back; more than once is harmless.
    package func release() {
        descriptor.withLock { descriptor in
            guard let raw = descriptor?.raw else { return }
            if removesFile { _ = unsafe unlink(path) }
            // Closing alone isn't enough while a child that is being started still has the descriptor too.
            flock(raw, LOCK_UN)
            descriptor = nil
        }
    }

    deinit { release() }

    /// Made where it is missing; on a file system that is read-only one that is there serves as well.
    private static func open(_ path: String) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            return try check("open") { unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        } catch {
            guard error.code == EROFS,
                let raw = try? check("open", { unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) })
            else { throw error }
            return raw
        }
    }

    private static func leads(_ path: String, to descriptor: Int32) -> Bool {
        var opened = stat()
        var named = stat()
        return unsafe fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0
            && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
    }

    /// Only for the message of who comes second, so a failure doesn't matter.
    private static func write(_ process: Int32, to descriptor: Int32) {
        let text = Array("\(process)\n".utf8)
        _ = ftruncate(descriptor, 0)
        _ = unsafe text.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    private static func holder(of path: String) -> Int32? {
        guard let raw = try? check("open", { unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }) else {
            return nil
        }
        let file = OwnedDescriptor(adopting: raw)
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file.raw, $0.baseAddress, $0.count) }
        return Int32(String(decoding: bytes[..<max(count, 0)].prefix { $0 != 10 }, as: UTF8.self))
    }
}
