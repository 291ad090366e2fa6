import Dispatch
import EventLoop
package import Journal
import LinuxSystem
import NetworkTypes
package import SystemBus

/// Has tunnels told of the machine's sleep and wake, and holds the sleep up for that, by logind.
///
/// Carries out what `SleepDecision` decides, on a queue of its own. Without logind, or a bus, nothing is told, and nothing waits.
package actor SleepWatch {
    private nonisolated let executor = QueueExecutor(label: "sleep-watch")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private let logind: Logind
    private let log: Logger
    private let tellSleep: @Sendable () async -> Void
    private let tellWake: @Sendable () async -> Void
    private var decision = SleepDecision()
    private var subscription: BusSubscription?
    /// Locks that were given and aren't held yet, by their numbers.
    private var given: [Int: SharedDescriptor] = [:]
    private var held: SharedDescriptor?
    private var limit: BootTimer?
    private var preparation = 0
    private var retryTimer: BootTimer?
    private var retryNumber = 0
    private var isEnded = false

    /// - Parameters:
    ///   - prepare: returns once every tunnel is ready for a sleep; not waited for beyond what logind allows.
    ///   - wake: tells every tunnel that the machine woke up.
    package init(
        bus: SystemBus,
        log: Logger,
        prepare: @escaping @Sendable () async -> Void,
        wake: @escaping @Sendable () async -> Void
    ) {
        logind = Logind(bus: bus)
        self.log = log
        tellSleep = prepare
        tellWake = wake
    }

    /// Takes note of whether at least one tunnel runs; to be called with each start, too.
    package nonisolated func tunnelsChanged(areRunning: Bool) {
        executor.queue.async { @Sendable in self.assumeIsolated { $0.take(.tunnels(running: areRunning)) } }
    }

    /// Gives the lock back, and ends.
    package func stop() {
        isEnded = true
        subscription?.cancel()
        subscription = nil
        given = [:]
        held = nil
        limit?.cancel()
        retryTimer?.cancel()
    }

    private func take(_ event: SleepDecision.Event) {
        guard !isEnded else { return }
        for effect in decision.handle(event) { carryOut(effect) }
    }

    private func carryOut(_ effect: SleepDecision.Effect) {
        switch effect {
        case .subscribe: subscribe()
        case .unsubscribe:
            subscription?.cancel()
            subscription = nil
        case .survey(let number): survey(number)
        case .inhibit(let number): inhibit(number)
        case .hold(let number): held = given.removeValue(forKey: number)
        case .drop(let number): given[number] = nil
        case .release: held = nil
        case .prepare(let number, let interval): prepare(number, within: interval)
        case .wake:
            log.info("The machine woke up.")
            Task { [tellWake] in await tellWake() }
        case .retry(let number, let interval):
            retryNumber = number
            retryTimer = retryTimer ?? timer { $0.take(.retryDue($0.retryNumber)) }
            retryTimer?.set(.now() + interval)
        case .endRetry: retryTimer?.set(nil)
        case .warnOfNoLock:
            log.notice(
                "A sleep of the machine may begin before tunnels know of it: logind doesn't answer as it should."
            )
        }
    }

    // MARK: The bus

    private func subscribe() {
        if let subscription { return subscription.retry() }
        subscription = BusSubscription(logind.bus, Logind.rules, on: executor.queue) { @Sendable [weak self] news in
            self?.assumeIsolated { $0.hear(news) }
        }
    }

    private func hear(_ news: BusNews) {
        switch news {
        case .subscribed: take(.subscribed)
        case .lost(let error):
            log.debug("Sleep isn't announced: \(error)")
            take(.busLost)
        case .signal(let signal):
            if let event = Logind.event(of: signal) { take(event) }
        }
    }

    private func survey(_ number: Int) {
        Task { [logind] in
            let answer = await logind.survey()
            if case .failure(let error) = answer { log.debug("logind can't be asked: \(error)") }
            self.take(.surveyed(number, try? answer.get()))
        }
    }

    private func inhibit(_ number: Int) {
        Task { [logind] in
            let answer = await logind.inhibit()
            switch answer {
            case .success(let lock): if !isEnded { given[number] = lock }
            case .failure(let error): log.debug("logind gives no lock: \(error)")
            }
            self.take(.inhibited(number, given[number] != nil))
        }
    }

    // MARK: Sleep

    private func prepare(_ number: Int, within interval: Interval) {
        log.info("The machine is about to sleep.")
        preparation = number
        limit =
            limit
            ?? timer { watch in
                watch.log.notice("The machine sleeps before every tunnel was ready for it.")
                watch.take(.prepared(watch.preparation))
            }
        limit?.set(.now() + interval)
        Task { [tellSleep] in
            await tellSleep()
            guard self.preparation == number else { return }
            self.limit?.set(nil)
            self.take(.prepared(number))
        }
    }

    private func timer(_ body: @escaping @Sendable (isolated SleepWatch) -> Void) -> BootTimer? {
        try? BootTimer(on: executor.queue) { @Sendable [weak self] in self?.assumeIsolated { body($0) } }
    }
}
