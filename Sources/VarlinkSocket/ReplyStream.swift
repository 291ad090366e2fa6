/// The replies to a call with `more`, one after the other.
///
/// Ends after the last reply; throws what a call would. Can be iterated once. When it is dropped before its end, the
/// connection closes: Varlink has no other way to say that no more replies are wanted.
package struct ReplyStream: AsyncSequence, Sendable {
    package typealias Element = ReceivedReply

    private let subscription: Subscription

    init(_ connection: VarlinkConnection, _ identifier: UInt64) {
        subscription = Subscription(connection, identifier)
    }

    package func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription

        package func next() async throws -> ReceivedReply? { try await subscription.next() }
    }

    fileprivate final class Subscription: Sendable {
        private let connection: VarlinkConnection
        private let identifier: UInt64

        init(_ connection: VarlinkConnection, _ identifier: UInt64) {
            self.connection = connection
            self.identifier = identifier
        }

        deinit { Task { [connection, identifier] in await connection.endStream(identifier) } }

        func next() async throws -> ReceivedReply? { try await connection.nextReply(of: identifier) }
    }
}
