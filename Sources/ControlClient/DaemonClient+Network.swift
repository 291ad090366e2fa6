package import ControlAPI
import VarlinkCore

extension DaemonClient {
    /// The network as tunneld sees it now.
    package func network() async throws(ControlError) -> NetworkView {
        let reply: NetworkCalls.SnapshotReply = try await read(NetworkCalls.interface + ".Snapshot")
        return reply.network
    }

    /// Has tunneld take back everything of its own that no running tunnel needs.
    package func repair() async throws(ControlError) -> NetworkCalls.RepairReply {
        try await call(NetworkCalls.interface + ".Repair", NoParameters()).reply
    }

    package typealias NetworkNews = AsyncThrowingStream<NetworkCalls.WatchReply, any Error>

    /// The network now, and after each change, on a connection of its own.
    ///
    /// The stream ends with a `ControlError` when the connection does, and ends the connection when nobody holds it.
    package func watchNetwork() async throws(ControlError) -> NetworkNews {
        try await stream(NetworkCalls.interface + ".Watch", NoParameters())
    }
}
