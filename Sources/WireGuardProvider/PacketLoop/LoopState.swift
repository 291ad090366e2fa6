import Synchronization

/// What others may read of the packet loop at any time, published once a round at most.
final class LoopState: Sendable {
    private let published = Mutex((counters: LoopCounters(), abilities: LoopAbilities()))

    var counters: LoopCounters { published.withLock { $0.counters } }
    var abilities: LoopAbilities { published.withLock { $0.abilities } }

    func publish(_ counters: LoopCounters, _ abilities: LoopAbilities) {
        published.withLock { $0 = (counters, abilities) }
    }
}
