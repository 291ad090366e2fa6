import Glibc
import HostNetwork
import LinuxSystem

/// The socket on which a provider answers `wg`: made here, for root alone, and passed on.
///
/// Source: https://www.wireguard.com/xplatform/.
enum WGSocket {
    static let folder = Ownership.wgSocketFolder

    /// Removes what was made; also what tunneld didn't live to write down.
    static func remove(_ record: SessionRecord, in folder: String) -> String? {
        if let socket = record.wgSocket { return socket.remove() ? socket.path : nil }
        guard let interface = record.interface else { return nil }
        let path = "\(folder)/\(interface).sock"
        return UnixListener.removeStaleFile(at: path) ? path : nil
    }

    /// Listens on the socket of an interface.
    ///
    /// - Throws: why it can't be; a live process that has the name is left alone.
    static func make(
        interface: String,
        in folder: String = WGSocket.folder
    ) throws(UnixListenerError) -> (SharedDescriptor, FileRecord) {
        let path = "\(folder)/\(interface).sock"
        let madeFolder = unsafe mkdir(folder, 0o755) == 0
        let listener = try UnixListener(.stream, at: UnixSocketAddress(path), mode: 0o600)
        guard let record = FileRecord(path, madeFolder: madeFolder) else {
            throw .system(SystemError(errno, in: "lstat"), path: path)
        }
        return (listener.descriptor, record)
    }

    /// Gives the socket another interface's name; who is connected to it stays so.
    ///
    /// - Returns: nil where it isn't ours any more, or the name is taken.
    static func rename(_ record: FileRecord, interface: String) -> FileRecord? {
        guard record.isThere, let slash = record.path.lastIndex(of: "/") else { return nil }
        let path = "\(record.path[..<slash])/\(interface).sock"
        // A hard link is made only where nothing has the name yet.
        guard unsafe link(record.path, path) == 0 else { return nil }
        _ = unsafe unlink(record.path)
        return FileRecord(path, madeFolder: record.madeFolder)
    }
}
