import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization

/// /etc/resolv.conf itself, which several tunnels share.
///
/// A link in its place is never written through: what it leads to belongs to another program. The link is replaced by a
/// file, and put back. A file that another one is mounted over, as containers have it, can't be replaced; it is written
/// in place.
struct ResolvConfFile: Sendable {
    let path: String

    /// Larger ones are no resolv.conf.
    private static let limit = 64 << 10
    /// One change at a time, also by those who take a session back while others go on.
    private static let turn = Mutex(())

    /// What stands there now.
    func read() throws(SystemError) -> FileContent {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else {
            if errno == ENOENT { return .missing }
            throw SystemError(errno, call: path)
        }
        if status.st_mode & S_IFMT == S_IFLNK { return .link(target: try target()) }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(ofFile: path, limit: Self.limit)
        } catch {
            throw SystemError(error.code, call: path)
        }
        return .file(
            FileContent.Regular(
                data: Data(bytes),
                mode: status.st_mode & 0o7777,
                user: status.st_uid,
                group: status.st_gid
            )
        )
    }

    /// What programs read there: where a link leads, the file behind it.
    func lines() -> ResolvConf? { lines(of: (try? read()) ?? .missing) }

    /// What programs would read, stood this there.
    func lines(of content: FileContent) -> ResolvConf? {
        switch content {
        case .missing: return nil
        case .file(let file): return ResolvConf(file.text)
        case .link(let target):
            let folder = String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
            let place = target.hasPrefix("/") ? target : folder + target
            guard let bytes = try? FileSystem.contents(ofFile: place, limit: Self.limit) else { return nil }
            return ResolvConf(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Why it can't be written; nil where it can, for all that can be told without doing it.
    func obstacle() -> SystemError? {
        let content: FileContent
        do throws(SystemError) {
            content = try read()
        } catch {
            return error
        }
        let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let place = if case .file = content { path } else { folder.isEmpty ? "/" : folder }
        return unsafe access(place, W_OK) == 0 ? nil : SystemError(errno, call: place)
    }

    /// Puts a tunnel's servers in, ahead of those that are there already.
    ///
    /// - Parameter others: those whose servers are in force; what is there counts where it is ours.
    func insert(
        _ tunnel: ResolvConfState.Tunnel,
        beside others: [ResolvConfState.Tunnel]
    ) throws(SystemError) {
        try change { current, state in
            var tunnels = state?.tunnels ?? others
            if let index = tunnels.firstIndex(where: { $0.interface == tunnel.interface }) {
                tunnels[index] = tunnel
            } else {
                tunnels.insert(tunnel, at: 0)
            }
            return tunnels
        }
    }

    /// Takes the servers of some tunnels out, and puts back what stood there before once none is left.
    ///
    /// Where it isn't ours any more nothing is done.
    /// - Returns: whether there was anything of theirs.
    @discardableResult
    func remove(where isGone: (InterfaceIdentity) -> Bool) throws(SystemError) -> Bool {
        var found = false
        try change { _, state in
            guard let state else { return nil }
            let left = state.tunnels.filter { !isGone($0.interface) }
            found = left.count < state.tunnels.count
            return found ? left : nil
        }
        return found
    }

    /// - Parameter tunnels: whose servers are to stand there, nil for no change; gets what stands there, and its state
    ///   where it is ours.
    private func change(
        _ tunnels: (FileContent, ResolvConfState?) -> [ResolvConfState.Tunnel]?
    ) throws(SystemError) {
        try Self.turn.withLock { _ throws(SystemError) in
            removeTemporary()
            let current = try read()
            let state = ResolvConfState(reading: current)
            guard let tunnels = tunnels(current, state) else { return }
            let wanted = content(current, state, tunnels)
            if wanted != current { try write(wanted, over: current) }
        }
    }

    private func content(
        _ current: FileContent,
        _ state: ResolvConfState?,
        _ tunnels: [ResolvConfState.Tunnel]
    ) -> FileContent {
        var original = state?.original ?? current
        if case .file(var file) = current {
            var text: String?
            if let state, file.text != state.text {
                if case .file(let old) = state.original {
                    text = state.original(old.text, withAdditionsOf: file.text)
                } else {
                    text = state.leftover(of: file.text)
                }
            } else if state == nil {
                text = ResolvConfState.unmarked(file.text, tunnels)
            }
            if let text {
                file.data = Data(text.utf8)
                original = .file(file)
            }
        }
        guard !tunnels.isEmpty else { return original }
        let base = lines(of: original) ?? ResolvConf()
        let new = ResolvConfState(original: original, base: base, tunnels: tunnels)
        var file = FileContent.Regular(data: Data(), mode: 0o644, user: 0, group: 0)
        if case .file(let old) = original { file = old }
        file.data = Data(new.text.utf8)
        return .file(file)
    }

    private func target() throws(SystemError) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try check("readlink") { unsafe readlink(path, &buffer, buffer.count - 1) }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
