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

    @Test func `stages are told once, in order, with those that were skipped`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.take(view(.connecting, stage: .launching)) == [])
        #expect(
            progress.take(view(.connecting, stage: .settingsApplied)) == [
                .stage(.providerStarted), .stage(.settingsApplied),
            ]
        )
        #expect(progress.take(view(.connecting, stage: .providerStarted)) == [])
        let connected = view(.connected, stage: .answered)
        #expect(progress.take(connected) == [.stage(.handshakeSent), .stage(.answered), .connected(connected)])
    }

    @Test func `the end of an older session isn't the end of this one`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.take(view(.disconnecting, session: "s0")) == [])
        #expect(progress.take(view(.disconnected, session: nil)) == [])
        #expect(progress.take(view(.connecting)) == [])
        #expect(progress.take(view(.disconnected, session: nil)) == [.ended(nil)])
    }

    @Test func `a tunnel that is read as down after the start was accepted has ended`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.takeRead(view(.disconnecting, session: "s0")) == [])
        #expect(progress.takeRead(view(.disconnected, session: nil)) == [.ended(nil)])
    }

    @Test func `a session that another one took the place of is over`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.take(view(.connecting)) == [])
        #expect(progress.take(view(.connecting, session: "s2")) == [.ended(nil)])
    }

    @Test func `the error of the end is the event's, else the last disconnect error`() {
        var ended = view(.disconnected, session: nil)
        ended.lastDisconnectError = ControlError(.providerFailed, "The provider ended.")
        var progress = StartProgress(session: "s1")
        #expect(progress.take(view(.connecting)) == [])
        #expect(progress.take(ended) == [.ended(ControlError(.providerFailed, "The provider ended."))])
        let own = ControlError(.timedOut, "It took too long.")
        #expect(progress.take(ended, error: own) == [.ended(own)])
    }

    @Test func `a trouble is told when its class changes, and not again`() {
        var progress = StartProgress(session: "s1")
        let refused = view(.connecting, stage: .launching, failure: .refused)
        #expect(progress.take(refused) == [.trouble(refused)])
        #expect(progress.take(refused) == [])
        let silent = view(.connecting, stage: .launching, failure: .silent)
        #expect(progress.take(silent) == [.trouble(silent)])
        #expect(progress.take(view(.connecting, stage: .launching)) == [])
        #expect(progress.take(silent) == [.trouble(silent)])
    }

    @Test func `events that say nothing about the state are passed over`() {
        var progress = StartProgress(session: "s1")
        #expect(progress.take(view(.connecting)) == [])
        for kind in [SessionsCalls.Event.Kind.ready, .configuration] {
            let event = SessionsCalls.Event(
                sequence: 1,
                time: Timestamp(milliseconds: 0),
                kind: kind,
                identifier: "a",
                name: nil,
                status: .disconnected,
                reason: nil,
                error: nil,
                snapshot: view(.disconnected, session: nil)
            )
            #expect(progress.take(event) == [])
        }
    }
}
