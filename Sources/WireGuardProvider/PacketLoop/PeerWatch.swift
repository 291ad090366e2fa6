package import NetworkTypes
import Synchronization
package import WireGuardCore

/// One peer's traffic, kept by the packet loop and read by the owner of timers.
///
/// The loop publishes once a batch, and calls for a timer (`LoopNotice.timerWanted`) only where the sample has begun to want
/// one while nobody watches.
package final class PeerWatch: Sendable {
    private struct State {
        var sample = TrafficSample()
        var isWatched = false
        var wantsHeard = false
    }

    struct Edges: Equatable {
        var timerWanted = false
        var heard = false
    }

    private let state = Mutex(State())

    package init() {}

    /// The traffic up to the latest batch; from any thread.
    package var sample: TrafficSample { state.withLock { $0.sample } }

    /// Sets whether a timer runs that will look at the sample (`DeviceAction.watch`).
    ///
    /// - Returns: whether the sample wants one now: where it is watched no longer, it is to be looked at once more, since the
    ///   loop kept quiet until here.
    @discardableResult
    package func setWatched(_ isWatched: Bool) -> Bool {
        state.withLock { state in
            state.isWatched = isWatched
            return state.sample.wantsTimer
        }
    }

    /// Asks to be told once of the next authentic packet (`LoopNotice.heard`).
    ///
    /// - Returns: true where one has come in since `instant`; then nothing more is told.
    package func askHeard(since instant: Instant) -> Bool {
        state.withLock { state in
            if let heard = state.sample.lastAnyReceived, heard > instant { return true }
            state.wantsHeard = true
            return false
        }
    }

    /// The loop's side.
    ///
    /// - Parameters:
    ///   - wantsTimer: whether the batch made the sample want a timer.
    ///   - heard: whether an authentic packet was in it.
    /// - Returns: what is to be told.
    func publish(_ sample: TrafficSample, wantsTimer: Bool, heard: Bool) -> Edges {
        state.withLock { state in
            state.sample = sample
            let edges = Edges(timerWanted: wantsTimer && !state.isWatched, heard: heard && state.wantsHeard)
            if heard { state.wantsHeard = false }
            return edges
        }
    }
}
