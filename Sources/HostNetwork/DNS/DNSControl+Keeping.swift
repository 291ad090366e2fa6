import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes
import SystemBus

/// What tells that somebody else may have changed what we put in force.
struct DNSWatches: Sendable {
    var bus: BusSubscription?
    /// What systemd-resolved remembers of links that others set: the one sign of some of its changes.
    var links: FolderWatch?
    var file: FileWatch?
    var folder: FolderWatch?
    /// Whether a look is due already.
    var isLookDue = false
}

extension DNSControl {
    /// Several steps of one change of another program's are looked at once.
    private static let gathering = Interval.milliseconds(100)
    private static let resolvedLinks = "/run/systemd/resolve/netif"

    /// Listens to what the tunnels' servers need, and to nothing else.
    func watch() {
        let backends = Set(tunnels.map(\.record.backend))
        if backends.contains(.resolved) {
            if watches.bus == nil {
                watches.bus = BusSubscription(bus, Resolved.rules, on: queue.queue) { @Sendable [weak self] news in
                    self?.assumeIsolated { $0.hear(news) }
                }
            }
            watchLinks()
        } else {
            watches.bus?.cancel()
            watches.links?.cancel()
            watches.bus = nil
            watches.links = nil
        }
        if backends.contains(.file) {
            watchFile()
        } else {
            watches.file?.cancel()
            watches.folder?.cancel()
            watches.file = nil
            watches.folder = nil
        }
    }

    private func watchLinks() {
        guard watches.links == nil else { return }
        // Versions that have no such folder, or another one, tell on the bus.
        watches.links = try? FolderWatch(Self.resolvedLinks, on: queue.queue) { @Sendable [weak self] news in
            self?.assumeIsolated { control in
                if news == .folderGone { control.watches.links = nil }
                control.lookSoon()
            }
        }
    }

    /// The file itself, which another name doesn't hide where it is a mount; and the folder, where another file comes.
    private func watchFile() {
        let look: @Sendable () -> Void = { [weak self] in self?.assumeIsolated { $0.lookSoon() } }
        watches.file?.cancel()
        watches.file = try? FileWatch(file.path, on: queue.queue, handler: look)
        guard watches.folder == nil, let slash = file.path.lastIndex(of: "/") else { return }
        let name = String(file.path[file.path.index(after: slash)...])
        watches.folder = try? FolderWatch(String(file.path[..<slash]), on: queue.queue) { news in
            if case .names(let names) = news, !names.contains(name) { return }
            look()
        }
    }

    private func hear(_ news: BusNews) {
        switch news {
        case .subscribed: lookSoon()
        case .lost: break
        case .signal(let signal):
            if signal.member == "NameOwnerChanged" {
                guard signal.arguments.count == 3, signal.arguments[2] != .string("") else { return }
                // It has begun anew, so what it has lost is nobody's doing.
                for index in tunnels.indices { tunnels[index].limiter = PushLimiter() }
                watches.links?.cancel()
                watches.links = nil
                watchLinks()
            }
            lookSoon()
        }
    }

    /// Looks in a moment whether all is as it should be.
    func lookSoon() { look(after: Self.gathering) }

    private func look(after pause: Interval) {
        guard !watches.isLookDue, !tunnels.isEmpty else { return }
        watches.isLookDue = true
        Task {
            try? await Pause.sleep(for: pause)
            watches.isLookDue = false
            await inTurn { await $0.look() }
        }
    }

    private func look() async {
        for tunnel in tunnels {
            guard await !isInForce(tunnel), let index = self.index(of: tunnel.interface) else { continue }
            switch tunnels[index].limiter.decide(.now()) {
            case .at(let next): repair(tunnel.interface, at: next)
            case .now:
                notice("The name servers of \(tunnel.interface.name) were changed from outside; putting them back.")
                if let error = await push(tunnel) { notice("\(error)") }
            }
        }
        // What stands there now may be another file than the one that is watched.
        if tunnels.contains(where: { $0.record.backend == .file }) { watchFile() }
    }

    private func repair(_ interface: InterfaceIdentity, at time: Instant) {
        guard let index = index(of: interface), !tunnels[index].isRepairDue else { return }
        tunnels[index].isRepairDue = true
        Task {
            try? await Pause.sleep(for: time - .now())
            guard let index = self.index(of: interface) else { return }
            tunnels[index].isRepairDue = false
            lookSoon()
        }
    }

    private func index(of interface: InterfaceIdentity) -> Int? {
        tunnels.firstIndex { $0.interface == interface }
    }

    /// Whether it still has what we told it; true also where that can't be told.
    private func isInForce(_ tunnel: Tunnel) async -> Bool {
        switch tunnel.record.backend {
        case .resolved:
            guard case .success(let found) = await read(tunnel.interface.index) else { return true }
            return found.routes(tunnel.link)
        case .resolvconf: return true
        case .file:
            guard let content = try? file.read() else { return true }
            guard let state = ResolvConfState(reading: content), let lines = file.lines(of: content) else {
                return false
            }
            let wanted = ResolvConfState.Tunnel(tunnel.interface, tunnel.link)
            guard state.tunnels.contains(wanted) else { return false }
            // Whatever else somebody wrote into it may stay.
            return lines.servers.starts(with: state.tunnels.flatMap(\.servers).withoutDoubles())
        }
    }

    func read(_ index: UInt32) async -> Result<ResolvedLink, BusError> {
        await bus.calls(within: .seconds(1)) { calls throws(BusError) in try Resolved.read(index, calls) }
    }

    /// Does something that blocks on a thread of its own.
    static func aside<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "org.tunneld.dns.aside").async { continuation.resume(returning: body()) }
        }
    }
}
