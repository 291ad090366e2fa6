import Synchronization

/// The interfaces of the tunnels, which are no part of the network around them.
package final class OwnInterfaces: Sendable {
    private let indexes = Mutex<Set<UInt32>>([])

    package init() {}

    /// To be called before the interface is switched on.
    package func insert(_ index: UInt32) { indexes.withLock { _ = $0.insert(index) } }

    /// - Returns: whether it was one of them.
    @discardableResult
    package func remove(_ index: UInt32) -> Bool { indexes.withLock { $0.remove(index) != nil } }

    package func contains(_ index: UInt32) -> Bool { indexes.withLock { $0.contains(index) } }
}
