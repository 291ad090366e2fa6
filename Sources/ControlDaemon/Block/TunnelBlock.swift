package import ControlAPI
package import HostNetwork

/// The block as tunnels and configurations use it.
package protocol TunnelBlock: Sendable {
    var status: BlockStatus { get }
    /// Names of the links that there are.
    func links() async -> [String]
    /// Goes on with what was in force; `settle` leaves of the members those that still count, and adds others.
    func resume(_ settle: @escaping @Sendable (inout [String: BlockMember]) -> Void) async throws(ControlError)
    /// Sets what a configuration's tunnel needs; returns once it is in force.
    func set(_ identifier: String, to member: BlockMember) async throws(ControlError)
    /// Lets a configuration go; with the last holder the block is lifted.
    func release(_ identifier: String) async throws(ControlError)
    /// Lets go of it: the rules stay.
    func abandon() async
}

/// The machine's own.
package struct HostTunnelBlock: TunnelBlock {
    private let block: TrafficBlock

    package init(_ block: TrafficBlock) { self.block = block }

    package var status: BlockStatus { block.status }

    package func links() async -> [String] { await block.links }

    package func resume(
        _ settle: @escaping @Sendable (inout [String: BlockMember]) -> Void
    ) async throws(ControlError) {
        do throws(BlockError) { try await block.resume(settle) } catch { throw ControlError(error) }
    }

    package func set(_ identifier: String, to member: BlockMember) async throws(ControlError) {
        do throws(BlockError) { try await block.set(identifier, to: member) } catch { throw ControlError(error) }
    }

    package func release(_ identifier: String) async throws(ControlError) {
        do throws(BlockError) { try await block.release(identifier) } catch { throw ControlError(error) }
    }

    package func abandon() async { await block.abandon() }
}

extension ControlError {
    fileprivate init(_ error: BlockError) {
        self.init(.networkSettingsFailed, error.what, reason: error.why, remedy: error.remedy)
    }
}
