import CShims
import Glibc

/// The path of a Unix socket, of any length.
///
/// An address holds 107 bytes (unix(7)). A longer path is reached through its folder, opened for the moment of the call:
/// `/proc/self/fd/<folder>/<name>`.
package struct UnixSocketAddress: Equatable, Sendable {
    package let path: String

    package init(_ path: String) { self.path = path }

    /// Calls `body` with a path that fits into an address and leads to the same file.
    ///
    /// - Throws: ENAMETOOLONG for a name that doesn't even fit alone; what opening the folder gave; what `body` throws.
    package func withShortPath<Result>(
        _ body: (String) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        guard !path.utf8.contains(0) else { throw SystemError(EINVAL, in: "bind") }
        if path.utf8.count <= Int(SHIM_UNIX_PATH_MAX) { return try body(path) }
        let (folder, name) = split
        let descriptor = OwnedDescriptor(
            adopting: try checkShim("open(O_PATH)") { unsafe shim_open_folder(folder) }
        )
        return try body("/proc/self/fd/\(descriptor.raw)/\(name)")
    }

    /// The folder ("." where the path has none) and the name in it.
    var split: (folder: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let folder = path[..<slash]
        return (folder.isEmpty ? "/" : String(folder), String(path[path.index(after: slash)...]))
    }
}
