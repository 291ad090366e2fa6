import Dispatch
import EventLoop
import Netlink
import NetworkTypes

/// What the block works with while it stands: nftables, what tells of changes, and the state of the machine's links.
struct BlockEngine: ~Copyable {
    private let nftables: NftablesContext
    let watch: BlockWatch
    private let tables: KernelTables
    private let sources: [DescriptorSource]
    private var links: [Link]
    private var local: LocalNetworks

    /// - Parameters:
    ///   - onRules: called when something happened to anybody's rules.
    ///   - onLinks: called when something happened to links or addresses.
    init(
        on queue: DispatchQueue,
        onRules: @escaping @Sendable () -> Void,
        onLinks: @escaping @Sendable () -> Void
    ) throws(BlockError) {
        // First, and before anything is read: what changes then is told.
        let watch = try Self.openWatch()
        let tables = try Self.openTables()
        let nftables = try NftablesContext()
        self.watch = watch
        self.tables = tables
        self.nftables = nftables
        links = []
        local = .none
        sources = [
            DescriptorSource(watch.rules.descriptor, .readable, canHangUp: false, on: queue, handler: onRules),
            DescriptorSource(watch.links.descriptor, .readable, canHangUp: false, on: queue, handler: onLinks),
        ]
        for source in sources { source.resume() }
    }

    private static func openWatch() throws(BlockError) -> BlockWatch {
        do throws(NetlinkError) { return try BlockWatch() } catch { throw .load(error) }
    }

    private static func openTables() throws(BlockError) -> KernelTables {
        do throws(NetlinkError) { return KernelTables(socket: try RouteSocket()) } catch { throw .load(error) }
    }

    deinit { for source in sources { source.cancel() } }

    /// Reads links and addresses anew.
    ///
    /// - Parameter tunnels: the names of our own links, whose networks aren't local.
    mutating func look(besides tunnels: Set<String>) throws(BlockError) {
        do throws(NetlinkError) {
            links = try tables.links()
            let own = OwnInterfaces()
            for link in links where tunnels.contains(link.name) { own.insert(link.index) }
            local = try tables.localNetworks(besides: own)
        } catch {
            throw .load(error)
        }
    }

    /// What the block is to be with these members.
    func content(_ members: some Collection<BlockMember>) throws(BlockError) -> BlockContent {
        let content = BlockContent(members, local: local, links: links)
        for link in content.links where !BlockRules.canName(link.name) { throw .name(link.name) }
        return content
    }

    /// Makes the rules what they are to be, in one transaction, and looks at the result.
    ///
    /// - Parameters:
    ///   - loaded: what is in force, as far as it is known; nil: everything is loaded anew.
    /// - Returns: what is in force now.
    func load(_ content: BlockContent, over loaded: BlockState.Loaded?) throws(BlockError) -> BlockState.Loaded {
        var known = loaded
        var attempt = 0
        while true {
            attempt += 1
            do throws(NftablesError) {
                if watch.drainRules() != 0 { known = nil }
                let changes = try change(to: content, from: known)
                let listing = try nftables.list()
                // Whoever else changed our rules before they were looked at is overruled. Who does so each time is met again
                // at the next event.
                if watch.drainRules() == changes || attempt == Self.attempts {
                    return BlockState.Loaded(rules: BlockRules.fixed, content: content, listing: listing)
                }
            } catch {
                // A link's chain may have gone with its link, or the link since it was looked for.
                guard attempt < Self.attempts, known != nil else { throw .load(error) }
            }
            known = nil
        }
    }

    private static let attempts = 3

    /// - Returns: how many transactions it took.
    private func change(to content: BlockContent, from loaded: BlockState.Loaded?) throws(NftablesError) -> Int {
        guard let loaded, loaded.rules == BlockRules.fixed else {
            try nftables.run(BlockRules.load(content))
            return 1
        }
        let script = BlockRules.change(from: loaded.content, to: content)
        guard !script.isEmpty else { return 0 }
        try nftables.run(script)
        return 1
    }

    /// Whether the rules are still those that were loaded.
    func isIntact(_ loaded: BlockState.Loaded) -> Bool {
        loaded.rules == BlockRules.fixed && (try? nftables.list()) == loaded.listing
    }

    func remove() throws(BlockError) {
        do throws(NftablesError) { try nftables.run(BlockRules.remove) } catch { throw .remove(error) }
    }

    /// Whether one of our tables is there, whoever made it.
    func isPresent() -> Bool {
        guard let tables = try? nftables.run("list tables") else { return false }
        return BlockRules.isPresent(in: tables)
    }
}
