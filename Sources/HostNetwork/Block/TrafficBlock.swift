import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes
import Synchronization

/// The block (kill switch): as long as one member holds it, nothing leaves the machine but what the members need and what
/// every link needs to work.
///
/// Rules and members outlive tunneld; what the next one finds to be right it doesn't touch. Without a holder nothing of it
/// is there: no rules, no socket, no file. Works in the network namespace of the process.
package actor TrafficBlock {
    private let executor = QueueExecutor(label: "org.tunneld.block")
    private let file: String
    private let onIncident: @Sendable (BlockIncident) -> Void
    private var engine: BlockEngine?
    private var state = BlockState()
    private var problem: BlockError?
    /// When rules were put back lately: whoever takes them away in a loop must not have all of the machine's time.
    private var restorations: [Instant] = []
    private nonisolated let shown = Mutex(BlockStatus())

    /// In a second; more of them come as fast as `pauseMilliseconds` allows.
    private static let restorationLimit = 20
    private static let pauseMilliseconds = 100
    private static let retryMilliseconds = 1000

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// - Parameters:
    ///   - file: where the next tunneld finds what is in force; gone with a reboot.
    ///   - onIncident: told what others do to the rules.
    package init(file: String, onIncident: @escaping @Sendable (BlockIncident) -> Void) {
        self.file = file
        self.onIncident = onIncident
    }

    /// How it is now.
    package nonisolated var status: BlockStatus { shown.withLock { $0 } }

    /// The names of the links that packet sockets are kept from sending on.
    package var links: [String] { state.loaded?.content.links.map(\.name) ?? [] }

    /// Goes on with what an earlier tunneld, or the boot, left.
    ///
    /// - Parameter settle: leaves of the members those that still count, and adds others.
    package func resume(_ settle: @Sendable (inout [String: BlockMember]) -> Void) throws(BlockError) {
        state = BlockState.read(file)
        settle(&state.members)
        do throws(BlockError) {
            try apply(isFirst: true)
        } catch {
            // Those that need it run already, or want it at any time: there is nobody to refuse it to.
            fail(error)
            if !state.holders.isEmpty { again(after: Self.retryMilliseconds) }
            throw error
        }
    }

    /// Sets what a member needs; returns once it is in force.
    ///
    /// - Throws: where it can't be; then everything is as it was.
    package func set(_ identifier: String, to member: BlockMember) throws(BlockError) {
        try change(identifier, to: member)
    }

    /// Lets a member go; with the last holder the block is lifted.
    package func release(_ identifier: String) throws(BlockError) { try change(identifier, to: nil) }

    /// Lets go of it: the rules stay.
    package func abandon() { engine = nil }

    private func change(_ identifier: String, to member: BlockMember?) throws(BlockError) {
        guard state.members[identifier] != member else { return }
        let before = state
        state.members[identifier] = member
        do throws(BlockError) {
            try apply()
        } catch {
            state = before
            if state.holders.isEmpty { clear() } else { try? save() }
            show()
            throw error
        }
    }

    // MARK: Putting in force

    private func apply(isFirst: Bool = false) throws(BlockError) {
        guard !state.holders.isEmpty else { return try lift(isFirst: isFirst) }
        // Before the rules: a crash in between finds what is to be, and loads it.
        if state.sinceMilliseconds == nil { state.sinceMilliseconds = Self.now() }
        try save()
        let isNew = engine == nil
        if isNew { engine = try open() }
        if isNew { try engine?.look(besides: tunnels) }
        if isFirst, let loaded = state.loaded, engine?.isIntact(loaded) != true { state.loaded = nil }
        try load()
    }

    private var tunnels: Set<String> { Set(state.members.values.compactMap(\.interface)) }

    private func load() throws(BlockError) {
        // What others did just now is counted as theirs.
        if state.loaded != nil { rulesChanged() }
        guard let content = try engine?.content(state.members.values) else { return }
        if state.loaded?.content != content || state.loaded?.rules != BlockRules.fixed {
            state.loaded = try engine?.load(content, over: state.loaded)
            try save()
        }
        problem = nil
        show()
    }

    private func lift(isFirst: Bool) throws(BlockError) {
        if state.loaded == nil, engine == nil {
            guard isFirst else { return }
            // An earlier tunneld, or the boot, may have left some.
            if let found = try? open(), found.isPresent() { try found.remove() }
            return clear()
        }
        if engine == nil { engine = try open() }
        try engine?.remove()
        clear()
    }

    /// Forgets everything about a block that is no more; who runs stays known.
    private func clear() {
        engine = nil
        restorations = []
        problem = nil
        let members = state.members
        state = BlockState()
        state.members = members
        // A file that can't be removed must not have the next tunneld block again.
        if (try? AtomicFile.remove(file)) == nil { try? save() }
        show()
    }

    private func open() throws(BlockError) -> BlockEngine {
        try BlockEngine(
            on: executor.queue,
            onRules: { @Sendable [weak self] in self?.assumeIsolated { $0.rulesChanged() } },
            onLinks: { @Sendable [weak self] in self?.assumeIsolated { $0.linksChanged() } }
        )
    }

    private func save() throws(BlockError) {
        do throws(SystemError) { try state.write(file) } catch { throw .state(file, error) }
    }

    private func show() {
        let status = BlockStatus(state, problem: problem)
        shown.withLock { $0 = status }
    }

    private static func now() -> Int64 {
        let time = WallClockTime.now()
        return time.seconds * 1000 + Int64(time.nanoseconds) / 1_000_000
    }

    // MARK: Upkeep

    /// Somebody's rules changed: ours are put back where they were among them.
    private func rulesChanged() {
        guard engine != nil, engine?.watch.drainRules() != 0 else { return }
        let now = Instant.now()
        restorations.removeAll { $0 + .seconds(1) < now }
        guard restorations.count < Self.restorationLimit else { return again(after: Self.pauseMilliseconds) }
        verify()
    }

    private func verify() {
        let isLost = state.loaded.map { engine?.isIntact($0) != true } ?? true
        if !isLost, problem == nil { return }
        // What was known is wrong, and must not be taken for right by the next attempt either.
        if isLost { state.loaded = nil }
        do throws(BlockError) {
            try load()
        } catch {
            fail(error)
            return again(after: Self.retryMilliseconds)
        }
        guard isLost else { return }
        restorations.append(.now())
        state.restored += 1
        state.lastRestoredMilliseconds = Self.now()
        try? save()
        show()
        onIncident(.restored(count: state.restored))
    }

    /// Links came or went: they get or lose their chains, and local networks change.
    private func linksChanged() {
        guard engine?.watch.drainLinks() == true else { return }
        do throws(BlockError) {
            try engine?.look(besides: tunnels)
            try load()
        } catch {
            fail(error)
            again(after: Self.retryMilliseconds)
        }
    }

    private func fail(_ error: BlockError) {
        if problem != error { onIncident(.failed(error)) }
        problem = error
        show()
    }

    private func again(after milliseconds: Int) {
        executor.queue.asyncAfter(deadline: DispatchTime.now() + .milliseconds(milliseconds)) { @Sendable [weak self] in
            self?.assumeIsolated { $0.tryAgain() }
        }
    }

    private func tryAgain() {
        guard !state.holders.isEmpty else { return }
        do throws(BlockError) {
            if engine == nil { engine = try open() }
            try engine?.look(besides: tunnels)
        } catch {
            fail(error)
            return again(after: Self.retryMilliseconds)
        }
        verify()
    }
}

extension BlockStatus {
    fileprivate init(_ state: BlockState, problem: BlockError?) {
        isInForce = state.loaded != nil
        holders = state.members.filter(\.value.holds)
        sinceMilliseconds = isInForce ? state.sinceMilliseconds : nil
        restored = state.restored
        lastRestoredMilliseconds = state.lastRestoredMilliseconds
        self.problem = problem?.description
    }
}
