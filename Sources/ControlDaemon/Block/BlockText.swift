import ControlAPI
import HostNetwork

/// What a client is told of the block.
enum BlockText {
    /// - Parameters:
    ///   - isRunning: whether the configuration's tunnel has a session.
    /// - Returns: nil where there is no block, and the configuration wants none.
    static func view(_ status: BlockStatus, of configuration: Configuration, isRunning: Bool) -> BlockView? {
        let holds = status.holders[configuration.identifier] != nil
        guard status.isInForce || status.problem != nil || !status.holders.isEmpty else { return nil }
        let visible = status.holders.values.filter { $0.owner == configuration.owner.user || $0.owner == 0 }
        let (reason, remedy) = text(status, of: configuration, isRunning: isRunning, holds: holds)
        return BlockView(
            inForce: status.isInForce,
            since: status.sinceMilliseconds.map { Timestamp(milliseconds: $0) },
            held: holds,
            holders: visible.map(\.name).sorted(),
            reason: reason,
            remedy: remedy,
            restored: status.restored,
            lastRestored: status.lastRestoredMilliseconds.map { Timestamp(milliseconds: $0) }
        )
    }

    private static func text(
        _ status: BlockStatus,
        of configuration: Configuration,
        isRunning: Bool,
        holds: Bool
    ) -> (reason: String, remedy: String?) {
        if let problem = status.problem {
            return ("Traffic is NOT blocked: \(problem)", nil)
        }
        let name = configuration.name
        guard holds else {
            return ("It stands for other configurations; this one's own traffic passes while its tunnel runs.", nil)
        }
        if isRunning { return ("\(name) has includeAllNetworks, and its tunnel runs.", nil) }
        if BlockPolicy.isPersistent(configuration) {
            let set = TunnelctlCommand.text("set", name, "persistentBlock=false")
            return ("\(name) has persistentBlock, though its tunnel is down.", "`\(set)` lifts it.")
        }
        return (
            "\(name) has includeAllNetworks, and its tunnel wasn't stopped by anybody.",
            "`\(TunnelctlCommand.text("up", name))` starts it, `\(TunnelctlCommand.text("down", name))` lifts the block."
        )
    }
}
