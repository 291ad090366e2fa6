package import ControlAPI
import Dispatch
import EventLoop
import FoundationEssentials
import Journal
import LinuxSystem
import NetworkTypes

/// The tunnel of one configuration: carries out what `TunnelMachine` decides, on a queue of its own.
package actor Tunnel {
    private nonisolated let executor: QueueExecutor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    package nonisolated let identifier: String
    let services: TunnelServices
    let log: Logger
    private var machine = TunnelMachine()
    /// Nil when there is no session.
    var live: LiveSession?
    /// What a start or a new start of the provider is doing, as the object of "while it was to".
    var step = "begin" { didSet { FaultPoint.moment(step) } }
    private var work: Task<Void, Never>?
    /// The last change of the network settings.
    var networkTurn: Task<Void, Never>?
    var mending = Mending()
    private var timer: BootTimer?
    private var timerPurpose: (session: String, event: TunnelMachine.Event)?
    /// Whether the machine was about to sleep since the timer was set: its time limit counts anew then, once.
    private var isTimeLimitExcused = false
    /// When the status became what it is; nil before the first session.
    private var since: Timestamp?
    private var notedLosses = 0
    private var idleWaiters: [CheckedContinuation<Void, Never>] = []
    /// The configuration for a session that begins when the present one has ended; without one, that which ended.
    var nextConfiguration: Configuration?
    /// What is stored is to be looked at, again perhaps.
    var isUpdateWanted = false
    var isUpdating = false
    /// Why the path is to be looked at, again perhaps; nil: it needn't be.
    var pathWanted: PathLook?
    var isLookingAtPath = false
    /// The configuration is removed: nothing starts any more.
    private var isRetired = false
    /// When a status waited in vain for the provider, and for which process; nil once it has answered.
    var silence: (process: ProcessIdentity, at: Instant)?
    /// Calls to the provider that are open and may take long.
    var longCalls = 0
    /// Messages to the provider that wait for their answers.
    var openMessages = 0
    /// Whether the session is left to the next tunneld.
    private var isAbandoned = false
    /// Whether the session's end, however it comes, is also to lift the block: somebody stopped it.
    var isLiftAsked = false
    /// Those of the start that is to come.
    private var nextOptions: [String: JSONValue]?

    package init(_ configuration: Configuration, _ services: TunnelServices) {
        executor = QueueExecutor(label: "tunnel-\(configuration.identifier)")
        identifier = configuration.identifier
        self.services = services
        log = services.log.with(.tunnelID(configuration.identifier))
    }

    var condition: TunnelMachine.Condition { machine.condition }
    /// What it would be, had the provider told this.
    ///
    /// - Parameter problem: what stands against the interface.
    func condition(
        ifTold state: ProviderState?,
        problem: String?,
        of session: String
    ) -> TunnelMachine.Condition {
        guard let state, state.phase != .failed else { return machine.condition }
        var copy = machine
        _ = copy.handle(.interfaceChanged(problem: problem), of: session, now: .now())
        _ = copy.handle(.reported(state), of: session, now: .now())
        return copy.condition
    }

    var queue: DispatchQueue { executor.queue }

    package var isIdle: Bool { machine.phase == .idle }
    var isStopping: Bool { if case .stopping = machine.phase { true } else { false } }
    /// Whether the network settings are in force, and stay so.
    var keepsNetwork: Bool {
        switch machine.phase {
        case .ready, .recovering: true
        case .idle, .starting, .stopping: false
        }
    }
    /// Whether another session begins as soon as the present one has ended.
    var isFollowed: Bool { if case .stopping(_, next: _?) = machine.phase { true } else { false } }
    var isReady: Bool { if case .ready = machine.phase { true } else { false } }
    var statusSince: Timestamp? { since }
    /// Whether the provider can be called, now or soon; nil where there is no session, or it ends.
    var takesCalls: Bool? {
        switch machine.phase {
        case .idle, .stopping: nil
        case .starting: machine.condition.stage != .launching
        case .ready: true
        case .recovering: false
        }
    }

    // MARK: What clients ask for

    /// Accepts a start; everything else comes as events.
    ///
    /// - Throws: `configurationUnknown` once the configuration is removed.
    package func start(
        _ configuration: Configuration,
        options: [String: JSONValue]? = nil
    ) throws(ControlError) -> SessionsCalls.StartReply {
        guard !isRetired else { throw .configurationUnknown(identifier) }
        let (session, alreadyRunning, effects) = machine.start(session: UUID().uuidString.lowercased())
        if !alreadyRunning {
            nextConfiguration = configuration
            nextOptions = options
        }
        carryOut(effects)
        return SessionsCalls.StartReply(session: session, alreadyRunning: alreadyRunning)
    }

    /// Stops for good, and returns once there is no session.
    package func retire() async {
        isRetired = true
        stop(session: nil, reason: "Its configuration was removed.")
        await idle()
    }

    /// Accepts a stop, of this session only if one is named.
    ///
    /// - Parameter reason: who stops it or why, in one sentence.
    package func stop(session: String?, reason: String? = nil) {
        carryOut(machine.stop(session: session, reason: reason))
    }

    /// Returns once there is no session.
    package func idle() async {
        if isIdle { return }
        await withCheckedContinuation { idleWaiters.append($0) }
    }

    /// Lets go of the provider, which goes on.
    package func abandon() async {
        // Let go first: what our own closing ends is no news of the provider, and the next tunneld must find the status
        // that is.
        isAbandoned = true
        let live = self.live
        self.live = nil
        live?.watch?.cancel()
        live?.workWatch?.cancel()
        for reader in live?.readers ?? [] { reader.cancel() }
        live?.pathRecheck?.cancel()
        await live?.connection?.close()
    }

    // MARK: What an earlier tunneld left

    /// Goes on with a session whose provider lives.
    func adopt(_ state: ProviderState, statusBefore: TunnelStatus, since: Timestamp) {
        guard let live else { return }
        self.since = since
        machine.adopt(session: live.session, state, statusBefore: statusBefore)
        if machine.condition.status != statusBefore { self.since = .now() }
        tell(isNews: machine.condition.status != statusBefore)
        watchWork()
    }

    /// Goes on with a session whose provider is lost: another one takes its place.
    func recover(_ error: ControlError) {
        guard let live else { return }
        knowStatus(of: live.record)
        carryOut(machine.recover(session: live.session, error, statusBefore: live.record.status, now: .now()))
    }

    /// Shows a session whose provider runs and can't be asked.
    func leave(reason: String) {
        guard let live else { return }
        knowStatus(of: live.record)
        machine.leave(session: live.session, reason: reason)
        tellChange()
    }

    /// A status that is still so isn't told as a new one.
    private func knowStatus(of record: SessionRecord) {
        told.status = record.status
        since = record.since
    }

    /// Keeps why a session of an earlier tunneld is over.
    func noteEnd(_ ending: SessionRecord.Ending?) {
        machine.noteEnd(ending?.error, reason: ending?.reason)
        since = .now()
        tell(isNews: true)
        keepError(ending?.error)
    }

    /// Knows again why a session that an earlier tunneld saw the end of is over.
    func recall(_ record: LastErrorStore.Record, _ configuration: Configuration) {
        guard isIdle, nextConfiguration == nil else { return }
        nextConfiguration = configuration
        machine.noteEnd(record.error)
        since = record.time
        tell(isNews: false)
    }

    // MARK: Events

    /// Takes what happened to a session.
    func take(_ event: TunnelMachine.Event, of session: String) {
        guard !isAbandoned else { return }
        carryOut(machine.handle(event, of: session, now: .now()))
    }

    private func carryOut(_ effects: [TunnelMachine.Effect]) {
        noteLoss()
        tellChange()
        watchWork()
        for effect in effects {
            switch effect {
            case .bringUp(let session): beginBringUp(session)
            case .relaunch(let session): beginRelaunch(session)
            case .startNext(let session): carryOut(machine.start(session: session).effects)
            case .retry(let session, let interval): setTimer(interval, session, .retryDue)
            case .tearDown(let session):
                work?.cancel()
                let work = work
                self.work = Task {
                    // Nothing new comes up once this has returned.
                    await work?.value
                    let ending = SessionRecord.Ending(error: self.condition.error, reason: self.condition.reason)
                    if await self.tearDown(session, isUnasked: ending.isUnasked) { self.finishTearDown(session) }
                }
            }
        }
        if isIdle {
            for waiter in idleWaiters { waiter.resume() }
            idleWaiters = []
        }
    }

    /// Counts a provider that was lost into the session's record, which outlives tunneld.
    private func noteLoss() {
        guard machine.providersLost != notedLosses else { return }
        notedLosses = machine.providersLost
        let count = live?.record.providerLosses?.count ?? 0
        live?.record.providerLosses = ProviderLossesView(
            count: count + 1,
            time: .now(),
            reason: machine.condition.reason ?? ""
        )
    }

    private func beginBringUp(_ session: String) {
        guard let configuration = nextConfiguration else { return }
        live = LiveSession(
            record: SessionRecord(
                session: session,
                configuration: configuration,
                nonce: UUID().uuidString.lowercased(),
                now: .now()
            ),
            in: services.journal
        )
        live?.options = nextOptions
        mending.governor = MendGovernor()
        nextOptions = nil
        isLiftAsked = false
        setTimer(services.startTimeout, session, nil)
        work = Task { await self.runBringUp(session) }
    }

    /// After the attempt before has come to its end, if it was given up.
    private func beginRelaunch(_ session: String) {
        work?.cancel()
        let work = work
        self.work = Task {
            await work?.value
            guard !Task.isCancelled else { return }
            await self.runRelaunch(session)
        }
    }

    private func runBringUp(_ session: String) async {
        let result = await outcome { try await self.bringUp(session) }.mapError { error in
            // A call's own limit was reached before that of the start.
            guard error.name == .timedOut else { return error }
            var error = error
            error.reason = "\(TunnelMachine.hungWhile)\(step). \(error.reason ?? "")"
            return error
        }
        setTimer(nil, session, nil)
        take(.broughtUp(result.map { live?.state }), of: session)
        await takeOverWhatWasSaved()
    }

    private func runRelaunch(_ session: String) async {
        setTimer(services.startTimeout, session, nil)
        let result = await outcome { try await self.relaunch(session) }
        // Given up meanwhile, because it took too long: others have the timer now.
        guard !Task.isCancelled else { return }
        setTimer(nil, session, nil)
        take(.relaunched(result.map { live?.state }), of: session)
        await takeOverWhatWasSaved()
    }

    /// What was saved while the session couldn't take it.
    func takeOverWhatWasSaved() async {
        guard isReady else { return }
        await configurationChanged()
        await endpointsChanged()
        // Somebody may have been at the network while nobody looked.
        await mend(isFresh: false)
    }

    private func finishTearDown(_ session: String) {
        setTimer(nil, session, nil)
        // The end is told by the configuration that ran, also of a session that was adopted or renamed.
        if case .stopping(_, next: nil) = machine.phase { nextConfiguration = live?.record.configuration }
        live = nil
        take(.tornDown, of: session)
    }

    /// Any failure as a `ControlError`, with the reason for the process's end where there is one.
    private func outcome(_ body: () async throws -> Void) async -> Result<Void, ControlError> {
        do {
            try await body()
            // It may have ended meanwhile, and nobody will be told of that again.
            if live?.provider?.process.hasEnded == true { await hearLastWords() }
            return endOfProvider(after: nil).map { .failure($0) } ?? .success(())
        } catch let error as ControlError {
            if error.name == .providerFailed { await hearLastWords() }
            return .failure(endOfProvider(after: error) ?? error)
        } catch {
            let fallback = ControlError(.providerFailed, "The tunnel can't be brought up.", reason: "\(error)")
            return .failure(endOfProvider(after: fallback) ?? fallback)
        }
    }

    // MARK: Time

    /// - Parameter event: nil for the limit of a start.
    private func setTimer(_ interval: Interval?, _ session: String, _ event: TunnelMachine.Event?) {
        guard let interval else {
            timer?.set(nil)
            return
        }
        if timer == nil {
            timer = try? BootTimer(on: executor.queue) { @Sendable [weak self] in
                self?.assumeIsolated { $0.timerFired() }
            }
        }
        isTimeLimitExcused = false
        timerPurpose = (session, event ?? .timeLimit(step: "", seconds: Int(interval.inSeconds)))
        timer?.set(.now() + interval)
    }

    /// Has the time limit that runs now begin anew once it is over: the machine sleeps meanwhile.
    func excuseTimeLimit() { isTimeLimitExcused = true }

    private func timerFired() {
        guard let (session, event) = timerPurpose else { return }
        if case .timeLimit(_, let seconds) = event {
            guard !isTimeLimitExcused else {
                isTimeLimitExcused = false
                timer?.set(.now() + .seconds(seconds))
                return
            }
            take(.timeLimit(step: step, seconds: seconds), of: session)
        } else {
            take(event, of: session)
        }
    }

    // MARK: Telling

    private var told = TunnelMachine.Condition()

    private func tellChange() {
        guard machine.condition != told else { return }
        if machine.condition.status != told.status { since = .now() }
        tell(isNews: true)
    }

    private func tell(isNews: Bool) {
        let condition = machine.condition
        services.running.note(identifier, isRunning: condition.status != .disconnected)
        let isStatusNew = condition.status != told.status
        told = condition
        let running = live?.record.configuration ?? nextConfiguration
        guard let running else { return }
        let present = EventHub.Present(
            owner: running.owner,
            name: running.name,
            status: condition.status,
            reason: condition.reason,
            error: condition.error
        )
        guard isNews else { return services.hub.note(identifier, present) }
        if isStatusNew {
            // First, or whoever is told may be told otherwise by the next tunneld.
            keepStatus(condition)
            if condition.status == .disconnected { keepError(condition.error) }
            // Told until the next start, by whichever tunneld.
            if condition.status == .connecting { services.lastErrors.remove(identifier) }
            logStatus(condition)
        }
        let snapshot = services.hub.hasSubscribers(to: .status) ? viewAsKnown(of: running, readAt: .now()) : nil
        services.hub.publish(.status, identifier, present, snapshot: snapshot, at: .now())
    }

    private func keepStatus(_ condition: TunnelMachine.Condition) {
        // That a session was to end must be known before anything of it is undone: nobody shall go on with it.
        let isEnding = condition.status == .disconnecting
        guard live?.record.process != nil || isEnding, let since else { return }
        live?.record.status = condition.status
        if isEnding {
            live?.record.ending = SessionRecord.Ending(error: condition.error, reason: condition.reason)
        }
        live?.record.since = since
        do { try saveRecord() } catch { log.warning("The session's journal can't be written, going on: \(error)") }
    }

    private func keepError(_ error: ControlError?) {
        guard let error else { return services.lastErrors.remove(identifier) }
        guard !isRetired else { return }
        do {
            try services.lastErrors.keep(LastErrorStore.Record(error: error, time: since ?? .now()), of: identifier)
        } catch {
            log.warning("Why the session ended can't be kept for the next start of tunneld, going on: \(error)")
        }
    }

    private func logStatus(_ condition: TunnelMachine.Condition) {
        let name = live?.record.configuration.name ?? nextConfiguration?.name ?? identifier
        let reason =
            condition.error.map { " \($0.message) \($0.reason ?? "")" } ?? condition.reason.map { " \($0)" } ?? ""
        let message = "\(name): \(condition.status.rawValue).\(condition.status == .connected ? "" : reason)"
        switch condition.status {
        case .connected, .reasserting: log.notice(message)
        case .disconnected where condition.error != nil: log.error(message)
        default: log.info(message)
        }
    }
}
