import ControlAPI
import HostNetwork
import Journal
import Glibc
import LinuxSystem

/// What the block is to be for a configuration whose tunnel is down.
enum BlockStep: Equatable, Sendable {
    case none, release
    case hold(Configuration)
}

/// Keeps the block in step with what is stored: for configurations that want it while their tunnels are down, for those that
/// take another's place, and for the boot.
actor BlockKeeper {
    private let block: any TunnelBlock
    private let store: ConfigurationStore
    private let state: String
    private let log: Logger

    /// - Parameter state: the folder that has the file for `tunnel-block`.
    init(block: any TunnelBlock, store: ConfigurationStore, state: String, log: Logger) {
        self.block = block
        self.store = store
        self.state = state
        self.log = log
    }

    /// Goes on with what an earlier tunneld left, before anything else is done to the network.
    ///
    /// - Parameter sessions: those that it left.
    func resume(_ sessions: [SessionRecord]) async {
        // A file that can't be used any more is nobody's word that traffic may pass.
        let lost = await store.lostConfigurations().map(\.last)
        let stored = Dictionary(
            (lost + (await store.configurations())).map { ($0.identifier, $0) },
            uniquingKeysWith: { $1 }
        )
        let running = Dictionary(
            sessions.filter(\.isOfThisBoot).map { ($0.configuration.identifier, $0) },
            uniquingKeysWith: { $1 }
        )
        do throws(ControlError) {
            try await block.resume { members in
                let heirs = BlockPolicy.heirs(of: members.keys, running.mapValues(\.configuration), among: stored)
                members = members.filter { identifier, member in
                    if running[identifier] != nil { return true }
                    return stored[identifier].map { $0.enabled && $0.includeAllNetworks && member.holds } ?? false
                }
                for (identifier, record) in running where members[identifier] == nil {
                    members[identifier] = BlockPolicy.member(record)
                }
                for configuration in stored.values where members[configuration.identifier] == nil {
                    if BlockPolicy.isPersistent(configuration) || heirs.contains(configuration.identifier) {
                        members[configuration.identifier] = BlockPolicy.bare(configuration)
                    }
                }
            }
        } catch {
            log.error("\(error.message) \(error.reason ?? "") It is tried again and again. \(error.remedy ?? "")")
        }
        await keepForBoot()
    }

    /// What a change in the store means for a configuration whose tunnel is down; one that runs sees to its own needs.
    func step(after change: ConfigurationStore.Change) async -> BlockStep {
        await keepForBoot()
        guard let present = change.current else { return await stepAfterLoss(of: change.previous) }
        let isHolder = block.status.holders[present.identifier] != nil
        guard present.enabled, present.includeAllNetworks else { return isHolder ? .release : .none }
        if BlockPolicy.isPersistent(present) { return .hold(present) }
        if isHolder {
            // What stood only because it was to be blocked at any time goes; what a failure left stays.
            return change.previous.map(BlockPolicy.isPersistent) ?? false ? .release : .hold(present)
        }
        for identifier in block.status.holders.keys {
            guard let holder = await store.configuration(identifier) else { continue }
            if BlockPolicy.takesOver(present, previous: change.previous, from: holder) {
                log.notice("\(present.name) takes the block over from \(holder.name).")
                return .hold(present)
            }
        }
        return .none
    }

    /// What is lost, but wasn't removed, is blocked for as before.
    private func stepAfterLoss(of configuration: Configuration?) async -> BlockStep {
        guard let configuration, let last = await store.unremoved(configuration.identifier), last.enabled,
            last.includeAllNetworks
        else { return .release }
        let isHolder = block.status.holders[last.identifier] != nil
        return isHolder || BlockPolicy.isPersistent(last) ? .hold(last) : .none
    }

    /// Forgets a configuration that is removed.
    func release(_ identifier: String) async {
        do throws(ControlError) {
            try await block.release(identifier)
        } catch {
            log.error("\(error.message) \(error.reason ?? "") \(error.remedy ?? "")")
        }
    }

    /// Whether it stands for a configuration only because its tunnel ended without anybody's having stopped it.
    func isLeft(_ identifier: String) async -> Bool {
        guard let known = await store.unremoved(identifier) else { return true }
        return !BlockPolicy.isPersistent(known)
    }

    /// Whether a configuration asks for the block at any time, and doesn't have it.
    nonisolated func lacks(_ configuration: Configuration) -> Bool {
        let status = block.status
        return BlockPolicy.isPersistent(configuration)
            && (status.holders[configuration.identifier] == nil || !status.isInForce)
    }

    /// How the block is now.
    nonisolated var status: BlockStatus { block.status }

    /// Writes or removes what `tunnel-block` loads.
    private func keepForBoot() async {
        let path = BootBlock.path(inState: state)
        let known = await store.configurations() + store.lostConfigurations().map(\.last)
        let isWanted = known.contains(where: BlockPolicy.isPersistent)
        do throws(SystemError) {
            guard isWanted else {
                // The name itself: tunnel-block takes a link that leads nowhere for a wish, too.
                var status = stat()
                if unsafe lstat(path, &status) == 0 { try AtomicFile.remove(path) }
                return
            }
            let text = Array(BootBlock.text(links: await block.links()).utf8)
            if (try? FileSystem.contents(ofFile: path, limit: 1 << 20)) == text { return }
            try AtomicFile.write(text, to: path, mode: 0o600)
        } catch {
            log.warning("What is to be blocked at boot can't be kept in \(path), going on: \(error)")
        }
    }
}

extension BlockPolicy {
    /// What the tunnel of a session needs, as its journal tells.
    static func member(_ record: SessionRecord) -> BlockMember {
        member(
            record.configuration,
            interface: record.interface,
            port: record.listenPort,
            known: record.settings?.endpoints ?? []
        )
    }
}
