package import ControlAPI
package import NetworkTypes

/// What a configuration's tunnel does next: every decision of a session, without any effect.
///
/// Events come in, effects go out; whoever carries them out reports back by further events.
package struct TunnelMachine: Sendable {
    package enum Event: Sendable {
        /// How far the bringing up has come.
        case stage(StartStage)
        case broughtUp(Result<ProviderState?, ControlError>)
        case relaunched(Result<ProviderState?, ControlError>)
        /// What stands against the interface, in words; nil where it is as it should be.
        case interfaceChanged(problem: String?)
        /// The provider told its state.
        case reported(ProviderState)
        /// The provider's process has ended, or can't be talked to any more.
        case providerLost(ControlError)
        /// A start took too long; `step` is where it hung.
        case timeLimit(step: String, seconds: Int)
        case retryDue
        case tornDown
    }

    package enum Effect: Equatable, Sendable {
        /// Do everything from the launch to the network settings, then report `broughtUp`.
        case bringUp(session: String)
        /// Start another provider on the old one's descriptors, then report `relaunched`.
        case relaunch(session: String)
        /// Report `retryDue` after this time.
        case retry(session: String, after: Interval)
        /// Cancel what runs, undo everything, then report `tornDown`.
        case tearDown(session: String)
        /// Start the session that waited for the end of the last: only now, so that this end is told before.
        case startNext(session: String)
    }

    package enum Phase: Equatable, Sendable {
        case idle
        case starting(session: String)
        case ready(session: String)
        /// The provider was lost; the interface and its routes stay.
        case recovering(session: String)
        /// `next` starts as soon as the old session has ended.
        case stopping(session: String, next: String?)

        var session: String? {
            switch self {
            case .idle: nil
            case .starting(let session), .ready(let session), .recovering(let session), .stopping(let session, _):
                session
            }
        }
    }

    /// A provider or an interface that was lost.
    private struct Loss {
        let time: Instant
        /// For how long a provider had worked before, of the time since the first loss.
        let worked: Interval
        let message: String
    }

    /// What clients see of it.
    package struct Condition: Equatable, Sendable {
        package var status = TunnelStatus.disconnected
        package var stage: StartStage?
        package var reason: String?
        package var failure: FailureView?
        package var session: String?
        /// Why the last session ended, if not because it was stopped.
        package var error: ControlError?

        package init() {}
    }

    /// As many losses as this within the period end the session.
    ///
    /// Only the time counts in which a provider worked: one that
    /// takes long to fail would be tried for ever.
    static let lossLimit = 5
    static let lossPeriod = Interval.seconds(60)
    private static let delays: [Interval] = [.zero, .milliseconds(250), .seconds(1), .seconds(2)]

    package private(set) var phase = Phase.idle
    package private(set) var condition = Condition()
    private var losses: [Loss] = []
    /// How many providers that were ready have been lost, over all sessions.
    package private(set) var providersLost = 0
    private var worked = Interval.zero
    /// Since when a provider works that took the place of a lost one.
    private var workingSince: Instant?
    /// Whether a peer has answered in this session: from then on, waiting for one is reasserting.
    private var wasConnected = false
    /// What the provider told last.
    private var shown: ProviderState?
    private var interfaceProblem: String?
    /// The provider's own error, last told in this session.
    private var ownError: ProviderError?

    package init() {}

    /// Takes a request to start.
    ///
    /// - Parameter session: the identifier that a new session gets.
    /// - Returns: the session that runs or will, and whether it did before.
    package mutating func start(session: String) -> (session: String, alreadyRunning: Bool, effects: [Effect]) {
        switch phase {
        case .idle: return (session, false, begin(session))
        case .stopping(let old, nil):
            phase = .stopping(session: old, next: session)
            return (session, false, [])
        case .stopping(_, let next?): return (next, true, [])
        case .starting(let running), .ready(let running), .recovering(let running): return (running, true, [])
        }
    }

    /// Takes a request to stop, in whatever state; of another session than the present one it does nothing.
    ///
    /// - Parameters:
    ///   - session: nil: whichever runs.
    ///   - reason: who stops it or why, in one sentence.
    package mutating func stop(session: String?, reason: String? = nil) -> [Effect] {
        switch phase {
        case .idle, .stopping(_, next: nil): return []
        case .stopping(let old, let next?):
            guard session == nil || session == next else { return [] }
            phase = .stopping(session: old, next: nil)
            condition.reason = reason ?? condition.reason
            return []
        case .starting(let running), .ready(let running), .recovering(let running):
            guard session == nil || session == running else { return [] }
            return end(running, error: nil, reason: reason)
        }
    }

    /// Goes on with a session that an earlier tunneld began, from what its provider says.
    package mutating func adopt(session: String, _ state: ProviderState, statusBefore: TunnelStatus) {
        guard phase == .idle else { return }
        wasConnected = statusBefore == .connected || statusBefore == .reasserting
        phase = .ready(session: session)
        condition.session = session
        condition.error = nil
        show(state)
    }

    /// Goes on with a session that an earlier tunneld began, and whose provider is lost.
    package mutating func recover(
        session: String,
        _ error: ControlError,
        statusBefore: TunnelStatus,
        now: Instant
    ) -> [Effect] {
        guard phase == .idle else { return [] }
        wasConnected = statusBefore == .connected || statusBefore == .reasserting
        condition.session = session
        condition.error = nil
        return lost(session, error, now)
    }

    /// Goes on with a session whose provider runs, but can't be asked.
    ///
    /// - Parameter reason: why, and what to do.
    package mutating func leave(session: String, reason: String) {
        guard phase == .idle else { return }
        wasConnected = true
        phase = .ready(session: session)
        condition.session = session
        condition.error = nil
        condition.status = .reasserting
        condition.stage = .settingsApplied
        condition.reason = reason
    }

    /// Notes why an earlier tunneld's session is over.
    ///
    /// - Parameter error: nil: it was stopped.
    package mutating func noteEnd(_ error: ControlError?, reason: String? = nil) {
        guard phase == .idle else { return }
        condition.error = error
        // An error says itself why.
        condition.reason = error == nil ? reason : nil
    }

    /// Takes what happened to a session; of one that is over it changes nothing.
    package mutating func handle(_ event: Event, of session: String, now: Instant) -> [Effect] {
        guard phase.session == session else { return [] }
        switch (event, phase) {
        case (.stage(let stage), .starting): condition.stage = stage
        case (.broughtUp(let result), .starting): return brought(session, result)
        case (.timeLimit(let step, let seconds), .starting):
            return end(session, error: Self.timedOut(step, seconds))
        case (.timeLimit(let step, let seconds), .recovering):
            return lost(session, Self.timedOut(step, seconds), now)
        // The stages before ready are the bringing up's to tell; why it waits is the provider's.
        case (.reported(let state), .starting): condition.failure = state.failure
        case (.reported(let state), .ready): return reported(session, state, now)
        // Its last words may come after the news of its end.
        case (.reported(let state), .recovering): ownError = state.error?.underlying ?? ownError
        case (.interfaceChanged(let problem), .ready):
            interfaceProblem = problem
            if let shown { show(shown) }
        case (.providerLost(let error), .starting): return end(session, error: error)
        // The end of a provider that is just being launched comes as that launch's failure.
        case (.providerLost(let error), .ready), (.relaunched(.failure(let error)), .recovering):
            return lost(session, error, now)
        case (.relaunched(.success(let state)), .recovering):
            phase = .ready(session: session)
            workingSince = now
            if let state { show(state) }
        case (.retryDue, .recovering): return [.relaunch(session: session)]
        case (.tornDown, .stopping(_, let next)): return tornDown(next)
        default: break
        }
        return []
    }

    private mutating func tornDown(_ next: String?) -> [Effect] {
        let ended = condition
        phase = .idle
        condition = Condition()
        condition.error = ended.error
        // An error says itself why.
        condition.reason = ended.error == nil ? ended.reason : nil
        return next.map { [.startNext(session: $0)] } ?? []
    }

    private mutating func begin(_ session: String) -> [Effect] {
        phase = .starting(session: session)
        losses = []
        workingSince = nil
        ownError = nil
        wasConnected = false
        shown = nil
        interfaceProblem = nil
        condition = Condition()
        condition.status = .connecting
        condition.stage = .launching
        condition.session = session
        return [.bringUp(session: session)]
    }

    private mutating func brought(_ session: String, _ result: Result<ProviderState?, ControlError>) -> [Effect] {
        switch result {
        case .success(let state):
            phase = .ready(session: session)
            condition.stage = .settingsApplied
            if let state { show(state) }
            return []
        case .failure(let error): return end(session, error: error)
        }
    }

    private mutating func reported(_ session: String, _ state: ProviderState, _ now: Instant) -> [Effect] {
        if state.phase == .failed {
            let error = state.error ?? ControlError(.providerFailed, "The tunnel's provider can't go on.")
            return lost(session, error, now)
        }
        show(state)
        return []
    }

    private mutating func show(_ state: ProviderState) {
        shown = state
        if state.status == .connected { wasConnected = true }
        switch state.status {
        case .connecting: condition.status = wasConnected ? .reasserting : .connecting
        case .connected, .reasserting: condition.status = state.status
        // On its way down without our having asked: its end will be noticed.
        case .disconnecting, .disconnected, .invalid: condition.status = .reasserting
        }
        condition.stage = max(state.stage, .settingsApplied)
        condition.reason = state.reason
        condition.failure = state.failure
        // A provider that is new, or on its way down, doesn't say why.
        if condition.status == .reasserting, condition.reason == nil {
            condition.reason = state.status == .connecting ? Self.notReadyAgain : Self.onItsWayDown
        }
        // The peer may well answer, but no traffic gets there.
        guard let interfaceProblem else { return }
        if condition.status == .connected { condition.status = .reasserting }
        condition.reason = interfaceProblem
        condition.failure = nil
    }

    /// The first new provider comes at once, the next ones later, and at last none.
    private mutating func lost(_ session: String, _ error: ControlError, _ now: Instant) -> [Effect] {
        if let since = workingSince { worked = worked + (now - since) }
        workingSince = nil
        losses = losses.filter { worked < $0.worked + Self.lossPeriod }
        losses.append(Loss(time: now, worked: worked, message: error.message))
        ownError = error.underlying ?? ownError
        guard losses.count < Self.lossLimit else { return end(session, error: gaveUp(error, now)) }
        // Another failure to replace it is no other provider that was lost.
        if phase != .recovering(session: session) { providersLost += 1 }
        phase = .recovering(session: session)
        interfaceProblem = nil
        condition.status = .reasserting
        condition.reason = [error.message, error.reason].compactMap(\.self).joined(separator: " ")
        condition.failure = nil
        let delay = Self.delays[min(losses.count, Self.delays.count) - 1]
        return delay == .zero ? [.relaunch(session: session)] : [.retry(session: session, after: delay)]
    }

    private mutating func end(_ session: String, error: ControlError?, reason: String? = nil) -> [Effect] {
        phase = .stopping(session: session, next: nil)
        condition.status = .disconnecting
        condition.stage = nil
        condition.reason = error?.message ?? reason
        condition.failure = nil
        condition.error = error
        return [.tearDown(session: session)]
    }

    private static let notReadyAgain = "The tunnel's provider was started anew, and isn't ready yet."
    private static let onItsWayDown = "The tunnel's provider is about to end."
    /// A step follows.
    static let hungWhile = "It hung while it was to "

    private static func timedOut(_ step: String, _ seconds: Int) -> ControlError {
        ControlError(
            .timedOut,
            "The tunnel didn't get ready within \(seconds) seconds.",
            reason: "\(hungWhile)\(step).",
            remedy: "Look into \(LogHint.tunneld). The limit is start-timeout in tunneld.conf."
        )
    }

    /// What was lost, each once, with how often.
    private func gaveUp(_ last: ControlError, _ now: Instant) -> ControlError {
        var messages: [String] = []
        for loss in losses where !messages.contains(loss.message) { messages.append(loss.message) }
        let counted = messages.map { message in
            let count = losses.count { $0.message == message }
            return "\(count == 1 ? "Once" : "\(count) times"): \(message)"
        }
        let first = losses.first?.time ?? now
        let seconds = Int(max(Self.lossPeriod, now - first).inSeconds.rounded(.up))
        return ControlError(
            last.name,
            "The tunnel broke \(losses.count) times within \(seconds) seconds, and is given up.",
            reason: (counted + [last.reason].compactMap(\.self)).joined(separator: " "),
            remedy: last.remedy ?? "Look into \(LogHint.tunneld).",
            underlying: ownError
        )
    }
}
