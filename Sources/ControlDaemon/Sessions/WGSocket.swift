import Glibc
import LinuxSystem

/// The socket on which a provider answers `wg`: made here, for root alone, and passed on.
///
/// Source: https://www.wireguard.com/xplatform/.
enum WGSocket {
    static let folder = "/var/run/wireguard"

    /// What of it must be taken back.
    struct Record: Codable, Equatable, Sendable {
        let path: String
        let device: UInt64
        let inode: UInt64
        /// Nanoseconds of the last change: the number of an inode is used again.
        let changed: Int64
        let madeFolder: Bool

        /// The file that is there now; nil where there is none.
        init?(_ path: String, madeFolder: Bool) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return nil }
            self.path = path
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
            self.madeFolder = madeFolder
        }
    }

    /// Listens on the socket of an interface.
    ///
    /// - Throws: why it can't be; a live process that has the name is left alone.
    static func make(
        interface: String,
        in folder: String = WGSocket.folder
    ) throws(UnixListenerError) -> (SharedDescriptor, Record) {
        let path = "\(folder)/\(interface).sock"
        let madeFolder = unsafe mkdir(folder, 0o755) == 0
        let listener = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        guard let record = Record(path, madeFolder: madeFolder) else {
            throw .system(SystemError(errno, in: "lstat"), path: path)
        }
        return (listener.descriptor, record)
    }

    /// Gives the socket another interface's name; who is connected to it stays so.
    ///
    /// - Returns: nil where it isn't ours any more, or the name is taken.
    static func rename(_ record: Record, interface: String) -> Record? {
        guard Record(record.path, madeFolder: record.madeFolder) == record,
            let slash = record.path.lastIndex(of: "/")
        else { return nil }
        let path = "\(record.path[..<slash])/\(interface).sock"
        // A hard link is made only where nothing has the name yet.
        guard unsafe link(record.path, path) == 0 else { return nil }
        _ = unsafe unlink(record.path)
        return Record(path, madeFolder: record.madeFolder)
    }

    /// Removes the file, if it is still ours, and the folder, if it was ours and is empty.
    static func remove(_ record: Record) {
        if Record(record.path, madeFolder: record.madeFolder) == record { _ = unsafe unlink(record.path) }
        guard record.madeFolder, let slash = record.path.lastIndex(of: "/") else { return }
        _ = unsafe rmdir(String(record.path[..<slash]))
    }
}
