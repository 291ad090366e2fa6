import Dispatch
import EventLoop
import Glibc
import LinuxSystem
import SystemBus

/// Hears what rtnetlink doesn't tell: other name servers, or that a link is metered now.
///
/// It tells once too often rather than once too seldom; who hears of it reads anew. It costs nothing while nothing happens.
final class SnapshotWatch: @unchecked Sendable {  // All that changes is touched on `queue` alone.
    private static let resolvConf = "/etc/resolv.conf"
    /// systemd-resolved's files, of all servers and of those that others gave it, and systemd-networkd's.
    private static let folders = ["/run/systemd/resolve", "/run/systemd/resolve/netif", "/run/systemd/netif/links"]

    private let queue: DispatchQueue
    private let handler: @Sendable () -> Void
    private var subscription: BusSubscription?
    private var folders: [String: FolderWatch] = [:]
    private var file: FileWatch?
    private var isCancelled = false

    /// - Parameter queue: where `handler` is called; it must be a serial one.
    init(_ bus: SystemBus, on queue: DispatchQueue, handler: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.handler = handler
        queue.async { self.listen(bus) }
    }

    func cancel() {
        queue.async {
            self.isCancelled = true
            self.subscription?.cancel()
            for folder in self.folders.values { folder.cancel() }
            self.file?.cancel()
            self.folders = [:]
            self.file = nil
        }
    }

    private func listen(_ bus: SystemBus) {
        guard !isCancelled else { return }
        watchFiles()
        subscription = BusSubscription(bus, Resolved.rules + MeteredReader.rules, on: queue) { [weak self] news in
            if case .lost = news { return }
            self?.changed()
        }
    }

    private func changed() {
        guard !isCancelled else { return }
        // What is there now may be another file or folder than the one that was watched.
        watchFiles()
        handler()
    }

    private func watchFiles() {
        var target = Self.resolvConf
        if let resolved = unsafe realpath(Self.resolvConf, nil) {
            target = unsafe String(cString: resolved)
            unsafe free(resolved)
        }
        file?.cancel()
        // The file itself, which another name doesn't hide where it is a mount.
        file = try? FileWatch(target, on: queue) { [weak self] in self?.changed() }
        watch(Self.resolvConf)
        watch(target)
        for folder in Self.folders where folders[folder] == nil { watch(folder, only: nil) }
    }

    private func watch(_ path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let folder = String(path[..<slash])
        guard !Self.folders.contains(folder), folders[folder] == nil else { return }
        watch(folder, only: String(path[path.index(after: slash)...]))
    }

    private func watch(_ folder: String, only name: String?) {
        folders[folder] = try? FolderWatch(folder, on: queue) { [weak self] news in
            if news == .folderGone { self?.folders.removeValue(forKey: folder)?.cancel() }
            if let name, case .names(let names) = news, !names.contains(name) { return }
            self?.changed()
        }
    }
}
