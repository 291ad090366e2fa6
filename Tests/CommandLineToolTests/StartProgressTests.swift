import CommandLineTool
import ControlAPI
import Testing

@Suite struct StartProgressTests {
    private func view(
        _ status: TunnelStatus,
        session: String? = "s1",
        stage: StartStage? = nil,
        failure: FailureView.Kind? = nil
    ) -> SessionView {
        var view = SessionView(identifier: "a", name: "home", status: status, readAt: Timestamp(milliseconds: 0))
        view.session = session
        view.stage = stage
        view.failure = failure.map { FailureView(kind: $0, message: "m", remedy: "r", endpoint: nil) }
        return view
    }

    private func event(_ view: SessionView?, error: ControlError? = nil) -> SessionsCalls.Event {
        event(.status, view, error: error)
    }

    private func event(
        _ kind: SessionsCalls.Event.Kind,
        _ view: SessionView?,
        error: ControlError? = nil
    ) -> SessionsCalls.Event {
        SessionsCalls.Event(
            sequence: 1,
            time: Timestamp(milliseconds: 0),
            kind: kind,
            identifier: "a",
            name: nil,
            status: view?.status,
            reason: view?.reason,
            error: error,
            snapshot: view
        )
    }

    @Test func `stages are told once, in order, with those that were skipped`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.take(event(view(.connecting, stage: .launching))) == [])
        #expect(
            progress.take(event(view(.connecting, stage: .settingsApplied))) == [
                .stage(.providerStarted), .stage(.settingsApplied),
            ]
        )
        #expect(progress.takeRead(view(.connecting, stage: .providerStarted)) == [])
        let connected = view(.connected, stage: .answered)
        #expect(progress.take(event(connected)) == [.stage(.handshakeSent), .stage(.answered), .connected(connected)])
    }

    @Test func `the end of an older session isn't the end of this one`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.takeRead(view(.disconnecting, session: "s0")) == [])
        #expect(progress.take(event(view(.disconnecting, session: "s0"))) == [.unclear])
        #expect(progress.takeRead(view(.connecting)) == [])
        // Told before it was read that this session runs.
        #expect(progress.take(event(view(.disconnected, session: nil))) == [.unclear])
        #expect(progress.takeRead(view(.connecting)) == [])
    }

    @Test func `a tunnel that is read as down after the start was accepted has ended`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.takeRead(view(.disconnecting, session: "s0")) == [])
        var down = view(.disconnected, session: nil)
        down.reason = "User 7 stopped it."
        #expect(progress.takeRead(down) == [.ended(StartProgress.End(reason: "User 7 stopped it."))])
    }

    @Test func `a session that another one took the place of is over, whatever that one does`() {
        for status in [TunnelStatus.connecting, .connected, .reasserting] {
            var progress = StartProgress(session: "s1")
            let newer = view(status, session: "s2")
            #expect(progress.take(event(newer)) == [.unclear])
            #expect(progress.takeRead(newer) == [.ended(StartProgress.End(successor: newer))])
        }
        var progress = StartProgress(session: "s1")
        #expect(progress.takeRead(view(.connecting)) == [])
        let ending = view(.disconnecting, session: "s2")
        #expect(progress.takeRead(ending) == [.ended(StartProgress.End(successor: ending))])
    }

    @Test func `who stopped it is known from the beginning of its end, whatever follows`() {
        var stopping = view(.disconnecting)
        stopping.reason = "User 7 stopped it."
        var progress = StartProgress(session: "s1")
        #expect(progress.take(event(stopping)) == [])
        #expect(progress.take(event(view(.disconnected, session: nil))) == [.unclear])
        let newer = view(.connected, session: "s2")
        #expect(
            progress.takeRead(newer) == [.ended(StartProgress.End(reason: "User 7 stopped it.", successor: newer))]
        )
    }

    @Test func `the error of the end is the event's, else the last disconnect error`() {
        let last = ControlError(.providerFailed, "The provider ended.")
        var ended = view(.disconnected, session: nil)
        ended.lastDisconnectError = last
        var progress = StartProgress(session: "s1")
        #expect(progress.takeRead(view(.connecting)) == [])
        #expect(progress.takeRead(ended) == [.ended(StartProgress.End(error: last))])
        let own = ControlError(.timedOut, "It took too long.")
        #expect(progress.take(event(view(.disconnecting), error: own)) == [])
        #expect(progress.takeRead(ended) == [.ended(StartProgress.End(error: own))])
    }

    @Test func `a trouble is told when its class changes, and not again`() {
        var progress = StartProgress(session: "s1")
        let refused = view(.connecting, stage: .launching, failure: .refused)
        #expect(progress.take(event(refused)) == [.trouble(refused)])
        #expect(progress.take(event(refused)) == [])
        let silent = view(.connecting, stage: .launching, failure: .silent)
        #expect(progress.takeRead(silent) == [.trouble(silent)])
        #expect(progress.take(event(view(.connecting, stage: .launching))) == [])
        #expect(progress.take(event(silent)) == [.trouble(silent)])
    }

    @Test func `events that say nothing about the state are passed over, and one without a view asks for a look`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.takeRead(view(.connecting)) == [])
        for kind in [SessionsCalls.Event.Kind.ready, .configuration] {
            #expect(progress.take(event(kind, view(.disconnected, session: nil))) == [])
        }
        #expect(progress.take(event(nil)) == [.unclear])
    }
}
