package import ControlAPI

/// What tunneld tells of one session's start, for somebody who waits.
package struct StartProgress: Sendable {
    package enum Step: Equatable, Sendable {
        /// A stage was reached, each told once and in order.
        case stage(StartStage)
        /// A peer doesn't answer, for another reason than before.
        case trouble(SessionView)
        case connected(SessionView)
        /// The session may be over: the state is to be read.
        case unclear
        /// The session is over.
        case ended(End)
    }

    /// How a session ended.
    package struct End: Equatable, Sendable {
        /// Nil where it was stopped.
        package var error: ControlError?
        /// Who stopped it.
        package var reason: String?
        /// The session that runs in its place.
        package var successor: SessionView?

        package init(error: ControlError? = nil, reason: String? = nil, successor: SessionView? = nil) {
            self.error = error
            self.reason = reason
            self.successor = successor
        }
    }

    private let session: String
    private var stage = StartStage.launching
    private var failure: FailureView.Kind?
    /// Whether anything was heard of this session.
    private var hasBegun = false
    /// What was told when this session began to end.
    private var end: End?
    private let tellsPast: Bool

    /// - Parameter tellsPast: whether stages that are over at the first look are told; those of a session that ran
    ///   before are no news.
    package init(session: String, tellsPast: Bool = true) {
        self.session = session
        self.tellsPast = tellsPast
    }

    /// Takes an event.
    ///
    /// It may have been told before the start was accepted, so one of another session or of none says nothing certain.
    package mutating func take(_ event: SessionsCalls.Event) -> [Step] {
        guard event.kind == .present || event.kind == .status else { return [] }
        guard let view = event.snapshot, view.session == session else { return [.unclear] }
        return news(view, error: event.error)
    }

    /// Takes the state as it was read after the start was accepted: what isn't this session then is before it or after it.
    package mutating func takeRead(_ view: SessionView) -> [Step] {
        if view.session == session { return news(view, error: nil) }
        // This session waits for the end of an older one.
        if !hasBegun, view.status == .disconnecting { return [] }
        var end = end ?? End()
        if view.session != nil {
            end.successor = view
        } else if self.end == nil {
            end = End(error: view.lastDisconnectError, reason: view.reason)
        }
        return [.ended(end)]
    }

    private mutating func news(_ view: SessionView, error: ControlError?) -> [Step] {
        if !hasBegun {
            hasBegun = true
            if !tellsPast, let past = view.stage { stage = past }
        }
        if view.status == .disconnecting {
            end = End(error: error ?? view.lastDisconnectError, reason: view.reason)
            return []
        }
        var steps = StartStage.allCases.filter { $0 > stage && $0 <= view.stage ?? stage }.map(Step.stage)
        stage = max(stage, view.stage ?? stage)
        if view.status == .connected {
            steps.append(.connected(view))
        } else if view.failure?.kind != failure {
            failure = view.failure?.kind
            if failure != nil { steps.append(.trouble(view)) }
        }
        return steps
    }
}
