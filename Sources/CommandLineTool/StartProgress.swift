package import ControlAPI

/// What the events of one session say about its start, for somebody who waits.
package struct StartProgress: Sendable {
    package enum Step: Equatable, Sendable {
        /// A stage was reached, each told once and in order.
        case stage(StartStage)
        /// A peer doesn't answer, for another reason than before.
        case trouble(SessionView)
        case connected(SessionView)
        /// The session is over.
        case ended(ControlError?)
    }

    private let session: String
    private var stage = StartStage.launching
    private var failure: FailureView.Kind?
    /// Whether an event of this session came: before it, `disconnected` is the end of an older one.
    private var begun = false
    private let tellsPast: Bool

    /// - Parameter tellsPast: whether stages that are over at the first look are told; those of a session that ran
    ///   before are no news.
    package init(session: String, tellsPast: Bool = true) {
        self.session = session
        self.tellsPast = tellsPast
    }

    package mutating func take(_ event: SessionsCalls.Event) -> [Step] {
        guard event.kind == .present || event.kind == .status, let view = event.snapshot else { return [] }
        return take(view, error: event.error)
    }

    /// Takes the state as it was read after the start was accepted: being down then is the session's own end.
    package mutating func takeRead(_ view: SessionView) -> [Step] {
        if !view.isRunning { begun = true }
        return take(view)
    }

    /// - Parameter error: what the event itself says; else the snapshot's last disconnect error counts.
    package mutating func take(_ view: SessionView, error: ControlError? = nil) -> [Step] {
        if view.session == session, !begun {
            begun = true
            if !tellsPast, let past = view.stage { stage = past }
        }
        guard view.session == session, view.status != .disconnected else {
            let isOver = begun && (view.session != nil || view.status == .disconnected || view.status == .invalid)
            return isOver ? [.ended(error ?? view.lastDisconnectError)] : []
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
