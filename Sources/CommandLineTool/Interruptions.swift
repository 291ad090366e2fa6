import Dispatch
import Glibc

/// SIGINT and SIGTERM as a stream, in place of the end that they would bring.
package enum Interruptions {
    package static func stream() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        let sources = Sources(
            [SIGINT, SIGTERM].map { number in
                // Dispatch only tells of a signal; without this the program would end at it all the same.
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { @Sendable in continuation.yield() }
                source.activate()
                return source
            }
        )
        continuation.onTermination = { @Sendable _ in sources.cancel() }
        return stream
    }

    /// Keeps the sources until the stream ends.
    private final class Sources: @unchecked Sendable {  // A Dispatch source may be cancelled from any thread.
        private let sources: [any DispatchSourceSignal]

        init(_ sources: [any DispatchSourceSignal]) { self.sources = sources }

        func cancel() { for source in sources { source.cancel() } }
    }
}
