import CShims
import Glibc

/// Why a socket could not be made at a path.
package enum UnixListenerError: Error, Equatable, Sendable {
    /// A live process listens there.
    case inUse(path: String)
    /// Something that is no socket stands there; it is left alone.
    case notASocket(path: String)
    case system(SystemError, path: String)
}

extension UnixListenerError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inUse(let path): "another process listens on \(path)"
        case .notASocket(let path): "\(path) exists and is not a socket"
        case .system(let error, let path): "\(path): \(error)"
        }
    }
}

/// A listening Unix socket and its file, which goes with it.
package final class UnixListener: Sendable {
    package let descriptor: SharedDescriptor
    /// Where the file is; nil for a socket that was made by somebody else (socket activation), who keeps the file.
    package let address: UnixSocketAddress?
    /// Device and inode, so that only our own file is removed.
    private let identity: FileIdentity?

    /// Listens at a path.
    ///
    /// The file of a process that is gone is replaced; that of a live one never.
    ///
    /// Two processes that start at once take turns by a lock file beside the socket, which is gone when this returns.
    ///
    /// - Parameter mode: the file's permission bits, whatever the umask is; at no moment are they wider.
    package init(
        _ kind: UnixSocket.Kind,
        at address: UnixSocketAddress,
        mode: UInt32
    ) throws(UnixListenerError) {
        self.address = address
        do throws(SystemError) {
            let lock = try LockFile.transient(path: address.path + ".lock", patienceMilliseconds: 5000)
            defer { lock.release() }
            try FaultPoint.reach("listen \(address.path)")
            try Self.removeStaleFile(kind, address)
            let socket = try UnixSocket.make(kind)
            try Self.bind(socket.raw, address, mode)
            identity = try FileIdentity(of: address)
            descriptor = SharedDescriptor(socket)
        } catch {
            switch error.code {
            case EADDRINUSE: throw .inUse(path: address.path)
            case ENOTSOCK: throw .notASocket(path: address.path)
            default: throw .system(error, path: address.path)
            }
        }
    }

    /// Takes over a socket that listens already, as systemd passes it.
    package init(adopting descriptor: consuming OwnedDescriptor) throws(SystemError) {
        let raw = descriptor.raw
        try check("fcntl(F_SETFL)") { fcntl(raw, F_SETFL, O_NONBLOCK) }
        try check("fcntl(F_SETFD)") { fcntl(raw, F_SETFD, FD_CLOEXEC) }
        self.descriptor = SharedDescriptor(descriptor)
        address = nil
        identity = nil
    }

    /// Removes the file, if it is still ours.
    ///
    /// Connections that wait are refused when the descriptor closes.
    package func removeFile() {
        guard let address, let identity, (try? FileIdentity(of: address)) == identity else { return }
        _ = unsafe unlink(address.path)
    }

    /// Removes a stream socket's file on which nobody listens any more; any other file stays.
    ///
    /// - Returns: whether there was one.
    package static func removeStaleFile(at path: String) -> Bool {
        let address = UnixSocketAddress(path)
        guard (try? FileIdentity(of: address)) != nil else { return false }
        return (try? removeStaleFile(.stream, address)) != nil
    }

    private static func removeStaleFile(
        _ kind: UnixSocket.Kind,
        _ address: UnixSocketAddress
    ) throws(SystemError) {
        do throws(SystemError) {
            _ = try UnixSocket.connect(kind, to: address)
            throw SystemError(EADDRINUSE, in: "bind")
        } catch {
            switch error.code {
            case ENOENT:
                // A link that leads nowhere is somebody else's, and would be in the way.
                guard (try? FileIdentity(of: address)) == nil else { throw SystemError(ENOTSOCK, in: "bind") }
            // Nobody listens, if it is a socket at all: connect(2) answers the same for any other file.
            case ECONNREFUSED:
                guard try FileIdentity(of: address).isSocket else { throw SystemError(ENOTSOCK, in: "bind") }
                try check("unlink") { unsafe unlink(address.path) }
            // Someone listens: with a full backlog, or for the other kind.
            case EAGAIN, EPROTOTYPE: throw SystemError(EADDRINUSE, in: "bind")
            default: throw error
            }
        }
    }

    private static func bind(
        _ socket: Int32,
        _ address: UnixSocketAddress,
        _ mode: UInt32
    ) throws(SystemError) {
        // The file gets the mode of the socket's own inode, less the umask (unix_bind in net/unix/af_unix.c).
        try check("fchmod") { fchmod(socket, mode & 0o600) }
        try address.withShortPath { path throws(SystemError) in
            _ = try checkShim("bind") { unsafe shim_unix_bind(socket, path) }
        }
        // Nobody else can connect before this: without listen(2) the answer is ECONNREFUSED.
        try check("chmod") { unsafe chmod(address.path, mode) }
        try check("listen") { listen(socket, SOMAXCONN) }
    }
}

/// Which file a path leads to.
struct FileIdentity: Equatable {
    let device: dev_t
    let inode: ino_t
    let isSocket: Bool

    init(of address: UnixSocketAddress) throws(SystemError) {
        var status = stat()
        try check("lstat") { unsafe lstat(address.path, &status) }
        device = status.st_dev
        inode = status.st_ino
        isSocket = status.st_mode & S_IFMT == S_IFSOCK
    }
}
