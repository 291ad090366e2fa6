import Netlink

/// The table and the rule priorities that a tunnel has, or may take because nobody uses them.
struct TunnelSlot: Hashable, Sendable {
    let table: UInt32
    let priority: UInt32
    /// Whether the priorities ahead of all other tunnels were taken, so that it goes behind some of them.
    let isBehindOthers: Bool

    /// Keeps what the journal names; else chooses.
    ///
    /// - Throws: `exhausted` when all are in use.
    ///
    /// - Parameter outer: the first priority of the tunnel that this one is nested in, ahead of which it must be, or the
    ///   outer one would have its traffic; nil for none.
    init(
        _ journal: NetworkJournal,
        _ state: NetworkState,
        _ tables: KernelTables,
        aheadOf outer: UInt32? = nil
    ) throws(NetworkSettingsError) {
        if let table = journal.ownTable { self.table = table } else { table = try TunnelSlot.freeTable(state, tables) }
        if let priority = journal.rulePriority, priority < outer ?? .max {
            self.priority = priority
            isBehindOthers = false
        } else {
            (priority, isBehindOthers) = try TunnelSlot.freePriority(state.allRules)
        }
    }

    private static func freeTable(
        _ state: NetworkState,
        _ tables: KernelTables
    ) throws(NetworkSettingsError) -> UInt32 {
        let used = Set(state.allRules.compactMap { Ownership.ownTable(besides: $0.table) })
        do throws(NetlinkError) {
            for table in Ownership.tables where !used.contains(table) {
                if try tables.routes(.init(isIPv6: false, table: table)).isEmpty,
                    try tables.routes(.init(isIPv6: true, table: table)).isEmpty
                {
                    return table
                }
            }
        } catch {
            throw NetworkSettingsError("Cannot look for an unused routing table.", error)
        }
        throw NetworkSettingsError(
            .exhausted,
            "Cannot take a routing table for the tunnel.",
            why: "All tables from \(Ownership.tables.lowerBound) to \(Ownership.tables.upperBound) are in use.",
            remedy: "Stop other tunnels."
        )
    }

    /// The highest free block of priorities ahead of all of ours; where there is none, the first free one.
    static func freePriority(
        _ rules: [KernelRule]
    ) throws(NetworkSettingsError) -> (priority: UInt32, isBehindOthers: Bool) {
        let first = Ownership.priorities.lowerBound
        let block = Ownership.priorityBlock
        let used = Set(rules.compactMap { Ownership.block(ofPriority: $0.priority) })
        let ours = rules.filter(\.isOurs).compactMap { Ownership.block(ofPriority: $0.priority) }.min()
        let count = UInt32(Ownership.priorities.count) / block
        if let free = (0..<(ours ?? count)).reversed().first(where: { !used.contains($0) }) {
            return (first + free * block, false)
        }
        guard let free = (0..<count).first(where: { !used.contains($0) }) else {
            throw NetworkSettingsError(
                .exhausted,
                "Cannot add routing rules for the tunnel.",
                why: "All priorities from \(first) to \(Ownership.priorities.upperBound) are in use.",
                remedy: "Stop other tunnels."
            )
        }
        return (first + free * block, true)
    }
}
