import ControlAPI
import EventLoop
import HostNetwork
import NetworkTypes
import Synchronization

@testable import ControlDaemon

/// A block that records what is asked of it, and blocks nothing.
final class FakeBlock: TunnelBlock {
    struct State {
        var members: [String: BlockMember] = [:]
        /// Every member that was set, and nil for one that was let go, in order.
        var changes: [BlockMember?] = []
        var isBroken = false
        /// How long a change takes.
        var pause = Interval.zero
    }

    let state = Mutex(State())

    var members: [String: BlockMember] { state.withLock { $0.members } }

    var status: BlockStatus {
        var status = BlockStatus()
        status.holders = members.filter(\.value.holds)
        status.isInForce = !status.holders.isEmpty
        return status
    }

    func links() async -> [String] { ["eth0"] }

    func resume(_ settle: @escaping @Sendable (inout [String: BlockMember]) -> Void) async throws(ControlError) {
        state.withLock { settle(&$0.members) }
    }

    func set(_ identifier: String, to member: BlockMember) async throws(ControlError) {
        let pause = state.withLock { $0.pause }
        if pause > .zero { try? await Pause.sleep(for: pause) }
        let isBroken = state.withLock { state in
            if !state.isBroken {
                state.members[identifier] = member
                state.changes.append(member)
            }
            return state.isBroken
        }
        if isBroken { throw ControlError(.networkSettingsFailed, "The fake block can't be loaded.") }
    }

    func release(_ identifier: String) async throws(ControlError) {
        state.withLock { state in
            if state.members.removeValue(forKey: identifier) != nil { state.changes.append(nil) }
        }
    }

    func abandon() async {}
}
