import Synchronization

/// What of the store is not as it should be, for `doctor` and the log.
package final class Incidents: Sendable {
    /// The oldest go first.
    private static let limit = 100

    private let texts = Mutex<[String]>([])
    private let tell: @Sendable (String) -> Void

    /// - Parameter tell: gets each one as it happens.
    package init(_ tell: @escaping @Sendable (String) -> Void = { _ in }) { self.tell = tell }

    package func add(_ text: String) {
        tell(text)
        texts.withLock { texts in
            texts.append(text)
            if texts.count > Self.limit { texts.removeFirst() }
        }
    }

    package var all: [String] { texts.withLock { $0 } }
}
