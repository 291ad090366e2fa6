package import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes

/// Signals of the bus, as they come; where the bus goes away, subscribed to again once it is back.
///
/// While nothing is announced nothing wakes, but for a bus that went away: that is tried again at growing intervals, and no
/// more after some minutes, until `retry`. One that was never there is given up sooner.
package final class BusSubscription: @unchecked Sendable {  // All that changes is touched on `queue` alone.
    /// How long a bus may take to let us in.
    private static let patienceSeconds = 10
    private static let firstPauseMilliseconds = 200
    private static let longestPauseMilliseconds = 30_000
    /// Some five minutes in all.
    private static let attempts = 16
    private static let attemptsAtFirst = 3

    private let address: String
    private let rules: [String]
    private let queue: DispatchQueue
    private let handler: @Sendable (BusNews) -> Void
    private var listener: BusListener?
    private var failures = 0
    private var wasThere = false
    /// Raised with each connection, so that a timer of an earlier one does nothing.
    private var generation = 0
    private var isCancelled = false

    /// - Parameters:
    ///   - rules: what to hear ("type='signal',member='…'"; D-Bus Specification, "Match Rules").
    ///   - queue: where `handler` is called; it must be a serial one.
    package init(
        _ bus: SystemBus,
        _ rules: [String],
        on queue: DispatchQueue,
        handler: @escaping @Sendable (BusNews) -> Void
    ) {
        address = bus.address
        self.rules = rules
        self.queue = queue
        self.handler = handler
        queue.async { self.connect() }
    }

    /// Ends for good.
    package func cancel() {
        queue.async {
            self.isCancelled = true
            self.drop()
        }
    }

    /// Has a bus that is away tried at once, for there is reason to think that it is back.
    package func retry() {
        queue.async {
            guard self.listener == nil, !self.isCancelled else { return }
            self.failures = 0
            self.connect()
        }
    }

    private func connect() {
        guard !isCancelled, listener == nil else { return }
        generation += 1
        let generation = generation
        do throws(BusError) {
            listener = try BusListener(address, rules, on: queue) { @Sendable [weak self] news in
                self?.take(news, of: generation)
            }
        } catch {
            return lose(error)
        }
        queue.asyncAfter(deadline: .now() + .seconds(Self.patienceSeconds)) { [weak self] in
            guard let self, self.generation == generation, let listener = self.listener, !listener.isSubscribed else {
                return
            }
            self.lose(.timedOut)
        }
    }

    private func take(_ news: BusNews, of generation: Int) {
        guard generation == self.generation, !isCancelled else { return }
        switch news {
        case .subscribed:
            failures = 0
            wasThere = true
        case .lost(let error): return lose(error)
        case .signal: break
        }
        handler(news)
    }

    private func lose(_ error: BusError) {
        drop()
        handler(.lost(error))
        failures += 1
        guard failures < (wasThere ? Self.attempts : Self.attemptsAtFirst), !isCancelled else { return }
        let pause = min(Self.firstPauseMilliseconds << min(failures - 1, 16), Self.longestPauseMilliseconds)
        let generation = generation
        queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak self] in
            guard let self, self.generation == generation else { return }
            self.connect()
        }
    }

    private func drop() {
        generation += 1
        listener?.close()
        listener = nil
    }
}
