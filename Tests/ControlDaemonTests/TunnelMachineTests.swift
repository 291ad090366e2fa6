import ControlAPI
import NetworkTypes
import Testing

@testable import ControlDaemon

@Suite struct TunnelMachineTests {
    private var machine = TunnelMachine()
    private var now = Instant(nanoseconds: 1_000_000_000_000)

    // MARK: Start

    @Test mutating func `a start is accepted and brings the session up`() {
        let start = machine.start(session: "a")
        #expect(start.session == "a" && !start.alreadyRunning)
        #expect(start.effects == [.bringUp(session: "a")])
        #expect(machine.condition.status == .connecting)
        #expect(machine.condition.stage == .launching)
        #expect(machine.condition.session == "a")
    }

    @Test mutating func `a start while running is the running session`() {
        _ = machine.start(session: "a")
        let again = machine.start(session: "b")
        #expect(again.session == "a" && again.alreadyRunning && again.effects.isEmpty)
        makeReady("a")
        #expect(machine.start(session: "b").session == "a")
    }

    @Test mutating func `ready is connecting until the provider says connected`() {
        _ = machine.start(session: "a")
        #expect(take(.stage(.providerStarted), "a").isEmpty)
        #expect(machine.condition.stage == .providerStarted)
        #expect(take(.broughtUp(.success(state(.connecting, .handshakeSent))), "a").isEmpty)
        #expect(machine.condition.status == .connecting)
        #expect(machine.condition.stage == .handshakeSent)
        _ = take(.reported(state(.connected, .answered)), "a")
        #expect(machine.condition.status == .connected)
        #expect(machine.condition.stage == .answered)
    }

    @Test mutating func `a provider that says connected before it is ready changes nothing`() {
        _ = machine.start(session: "a")
        _ = take(.reported(state(.connected, .answered)), "a")
        #expect(machine.condition.status == .connecting)
        #expect(machine.condition.stage == .launching)
    }

    @Test mutating func `a start that fails is undone and leaves its error`() {
        _ = machine.start(session: "a")
        #expect(take(.broughtUp(.failure(fault)), "a") == [.tearDown(session: "a")])
        #expect(machine.condition.status == .disconnecting)
        #expect(take(.tornDown, "a").isEmpty)
        #expect(machine.condition.status == .disconnected)
        #expect(machine.condition.session == nil)
        #expect(machine.condition.error == fault)
        _ = machine.start(session: "b")
        #expect(machine.condition.error == nil)
    }

    @Test mutating func `a start that takes too long says where it hung`() {
        _ = machine.start(session: "a")
        #expect(take(.timeLimit(step: "make the interface", seconds: 60), "a") == [.tearDown(session: "a")])
        #expect(machine.condition.error?.name == .timedOut)
        #expect(machine.condition.error?.reason == "It hung while it was to make the interface.")
        #expect(take(.broughtUp(.success(nil)), "a").isEmpty)
        #expect(machine.condition.status == .disconnecting)
    }

    @Test mutating func `the limit of a start has no say once the tunnel is ready`() {
        _ = machine.start(session: "a")
        makeReady("a")
        #expect(take(.timeLimit(step: "x", seconds: 60), "a").isEmpty)
        #expect(machine.condition.status == .connected)
    }

    @Test mutating func `another provider that takes too long counts as lost, and the next one gets its turn`() {
        _ = machine.start(session: "a")
        makeReady("a")
        #expect(take(.providerLost(fault), "a") == [.relaunch(session: "a")])
        let effects = take(.timeLimit(step: "wait for the provider's control socket", seconds: 60), "a")
        #expect(effects == [.retry(session: "a", after: .milliseconds(250))])
        #expect(machine.condition.status == .reasserting)
        #expect(machine.condition.reason?.contains("wait for the provider's control socket") == true)
    }

    // MARK: Stop

    @Test mutating func `a stop ends every state, without an error, and once`() {
        let states: [(inout TunnelMachine) -> Void] = [
            { _ = $0.start(session: "a") },
            {
                _ = $0.start(session: "a")
                _ = $0.handle(.broughtUp(.success(nil)), of: "a", now: .zero)
            },
            {
                _ = $0.start(session: "a")
                _ = $0.handle(.broughtUp(.success(nil)), of: "a", now: .zero)
                _ = $0.handle(.providerLost(ControlError(.providerFailed, "x")), of: "a", now: .zero)
            },
        ]
        for reach in states {
            var machine = TunnelMachine()
            reach(&machine)
            #expect(machine.stop(session: nil) == [.tearDown(session: "a")])
            #expect(machine.stop(session: nil).isEmpty)
            #expect(machine.condition.status == .disconnecting)
            _ = machine.handle(.tornDown, of: "a", now: .zero)
            #expect(machine.condition == TunnelMachine.Condition())
            #expect(machine.stop(session: nil).isEmpty)
        }
    }

    @Test mutating func `an old stop doesn't end a newer session`() {
        _ = machine.start(session: "b")
        makeReady("b")
        #expect(machine.stop(session: "a").isEmpty)
        #expect(machine.condition.status == .connected)
        #expect(machine.stop(session: "b") == [.tearDown(session: "b")])
    }

    @Test mutating func `a start while stopping begins when the old session has ended`() {
        _ = machine.start(session: "a")
        _ = machine.stop(session: nil)
        let start = machine.start(session: "b")
        #expect(start.session == "b" && !start.alreadyRunning && start.effects.isEmpty)
        #expect(machine.start(session: "c").session == "b")
        #expect(machine.condition.status == .disconnecting)
        #expect(take(.tornDown, "a") == [.startNext(session: "b")])
        // Whoever watches sees the old session's end before the new one's begin.
        #expect(machine.condition == TunnelMachine.Condition())
        #expect(machine.start(session: "b").effects == [.bringUp(session: "b")])
        #expect(machine.condition.status == .connecting)
    }

    @Test mutating func `who stopped a session stays told until the next begins`() {
        _ = machine.start(session: "a")
        #expect(machine.stop(session: nil, reason: "User 7 stopped it.") == [.tearDown(session: "a")])
        #expect(machine.condition.reason == "User 7 stopped it.")
        _ = machine.start(session: "b")
        #expect(machine.stop(session: "b", reason: "User 8 stopped it.").isEmpty)
        #expect(machine.condition.reason == "User 8 stopped it.")
        _ = take(.tornDown, "a")
        #expect(machine.condition.status == .disconnected)
        #expect(machine.condition.reason == "User 8 stopped it.")
        _ = machine.start(session: "c")
        #expect(machine.condition.reason == nil)
        _ = take(.broughtUp(.failure(fault)), "c")
        _ = take(.tornDown, "c")
        #expect(machine.condition.reason == nil && machine.condition.error == fault)
    }

    @Test mutating func `a start that waits can be stopped, but not by a stop of the old session`() {
        _ = machine.start(session: "a")
        _ = machine.stop(session: nil)
        _ = machine.start(session: "b")
        #expect(machine.stop(session: "a").isEmpty)
        #expect(machine.phase == .stopping(session: "a", next: "b"))
        #expect(machine.stop(session: "b").isEmpty)
        #expect(take(.tornDown, "a").isEmpty)
        #expect(machine.condition.status == .disconnected)
    }

    @Test mutating func `what comes of a session that is over changes nothing`() {
        _ = machine.start(session: "b")
        makeReady("b")
        let before = machine.condition
        for event: TunnelMachine.Event in [
            .stage(.launching), .broughtUp(.failure(fault)), .relaunched(.failure(fault)), .providerLost(fault),
            .timeLimit(step: "x", seconds: 1), .retryDue, .tornDown, .reported(state(.connecting, .handshakeSent)),
        ] {
            #expect(take(event, "a").isEmpty)
            #expect(machine.condition == before)
        }
    }

    // MARK: Loss of the provider

    @Test mutating func `a lost provider is replaced at once, and the status says so`() {
        _ = machine.start(session: "a")
        makeReady("a")
        #expect(take(.providerLost(fault), "a") == [.relaunch(session: "a")])
        #expect(machine.condition.status == .reasserting)
        #expect(machine.condition.reason == "It broke. Because.")
        #expect(machine.condition.session == "a")
        #expect(take(.relaunched(.success(state(.connected, .answered))), "a").isEmpty)
        #expect(machine.condition.status == .connected)
        #expect(machine.condition.reason == nil)
    }

    @Test mutating func `a session that was connected is reasserting until it is again`() {
        _ = machine.start(session: "a")
        makeReady("a")
        _ = take(.providerLost(fault), "a")
        _ = take(.relaunched(.success(state(.connecting, .handshakeSent))), "a")
        #expect(machine.condition.status == .reasserting)
        #expect(machine.condition.reason == "The tunnel's provider was started anew, and isn't ready yet.")
        _ = take(.reported(state(.connected, .answered)), "a")
        #expect(machine.condition.status == .connected && machine.condition.reason == nil)
    }

    @Test mutating func `a tunnel whose interface is switched off is never connected, whatever its peer says`() {
        _ = machine.start(session: "a")
        makeReady("a")
        _ = take(.reported(state(.connected, .answered)), "a")
        #expect(take(.interfaceChanged(problem: "It is down."), "a").isEmpty)
        #expect(machine.condition.status == .reasserting)
        #expect(machine.condition.reason == "It is down.")
        _ = take(.reported(state(.connected, .answered)), "a")
        #expect(machine.condition.status == .reasserting)
        _ = take(.interfaceChanged(problem: nil), "a")
        #expect(machine.condition.status == .connected)
        #expect(machine.condition.reason == nil)
    }

    @Test mutating func `a provider that says that it can't go on is lost`() {
        _ = machine.start(session: "a")
        makeReady("a")
        var failed = state(.connected, .answered)
        failed.phase = .failed
        failed.error = fault
        #expect(take(.reported(failed), "a") == [.relaunch(session: "a")])
        // Its process ends a moment later; that is the same loss.
        #expect(take(.providerLost(fault), "a").isEmpty)
    }

    @Test mutating func `a provider that ends without having been told to says so, and is replaced once it has ended`()
    {
        _ = machine.start(session: "a")
        makeReady("a")
        var ending = state(.disconnecting, .providerStarted)
        ending.phase = .stopping
        #expect(take(.reported(ending), "a").isEmpty)
        #expect(machine.condition.status == .reasserting)
        #expect(machine.condition.reason == "The tunnel's provider is about to end.")
        #expect(take(.providerLost(fault), "a") == [.relaunch(session: "a")])
    }

    @Test mutating func `replacing backs off, and ends after five losses within a minute`() {
        _ = machine.start(session: "a")
        makeReady("a")
        #expect(take(.providerLost(fault), "a") == [.relaunch(session: "a")])
        let delays: [Interval] = [.milliseconds(250), .seconds(1), .seconds(2)]
        for delay in delays {
            #expect(take(.relaunched(.failure(fault)), "a") == [.retry(session: "a", after: delay)])
            #expect(take(.retryDue, "a") == [.relaunch(session: "a")])
        }
        #expect(take(.relaunched(.failure(fault)), "a") == [.tearDown(session: "a")])
        #expect(machine.condition.status == .disconnecting)
        #expect(machine.condition.error?.message == "The tunnel broke 5 times within 60 seconds, and is given up.")
        #expect(machine.condition.error?.reason == "5 times: It broke. Because.")
    }

    @Test mutating func `a session that is given up says what was lost, and how often`() {
        _ = machine.start(session: "a")
        makeReady("a")
        let interface = ControlError(.providerFailed, "The interface wg0 was deleted from outside.")
        for error in [fault, interface, interface, fault] {
            #expect(!take(.providerLost(error), "a").contains(.tearDown(session: "a")))
            _ = take(.relaunched(.success(nil)), "a")
        }
        _ = take(.providerLost(interface), "a")
        #expect(
            machine.condition.error?.reason
                == "2 times: It broke. 3 times: The interface wg0 was deleted from outside."
        )
    }

    @Test mutating func `a provider's own error is told at the end, whichever of its ends it came with`() {
        _ = machine.start(session: "a")
        makeReady("a")
        var state = ProviderState(phase: .failed, status: .disconnected, stage: .providerStarted)
        let own = ProviderError(domain: "com.example", code: 7, message: "No.")
        state.error = ControlError(.providerFailed, "No.", underlying: own)
        for _ in 1..<TunnelMachine.lossLimit {
            _ = take(.providerLost(ControlError(.providerFailed, "It ended.")), "a")
            #expect(take(.reported(state), "a").isEmpty)
            _ = take(.relaunched(.success(nil)), "a")
        }
        _ = take(.providerLost(ControlError(.providerFailed, "It ended.")), "a")
        #expect(machine.condition.error?.underlying == own)
    }

    @Test mutating func `providers that take long to fail are not tried for ever`() {
        _ = machine.start(session: "a")
        makeReady("a")
        _ = take(.providerLost(fault), "a")
        for attempt in 1...4 {
            now = now + .seconds(61)
            let effects = take(.timeLimit(step: "have the provider start", seconds: 60), "a")
            #expect(effects.contains(.tearDown(session: "a")) == (attempt == 4))
            _ = take(.retryDue, "a")
        }
        #expect(machine.condition.error?.message == "The tunnel broke 5 times within 244 seconds, and is given up.")
    }

    @Test mutating func `only the time in which a provider worked makes a loss forgotten`() {
        _ = machine.start(session: "a")
        makeReady("a")
        for attempt in 1...5 {
            let effects = take(.providerLost(fault), "a")
            #expect(effects.contains(.tearDown(session: "a")) == (attempt == 5))
            // It takes most of a minute to get ready, and works ten seconds.
            now = now + .seconds(55)
            _ = take(.relaunched(.success(nil)), "a")
            now = now + .seconds(10)
        }
    }

    @Test mutating func `losses far apart never end a session`() {
        _ = machine.start(session: "a")
        makeReady("a")
        for minute in 1...20 {
            let time = now + .seconds(16 * minute)
            let effects = machine.handle(.providerLost(fault), of: "a", now: time)
            #expect(!effects.contains(.tearDown(session: "a")))
            _ = machine.handle(.relaunched(.success(nil)), of: "a", now: time)
        }
    }

    @Test mutating func `a provider that dies while the tunnel is started fails the start`() {
        _ = machine.start(session: "a")
        #expect(take(.providerLost(fault), "a") == [.tearDown(session: "a")])
        #expect(machine.condition.error == fault)
    }

    @Test(arguments: [
        (TunnelStatus.connecting, "The tunnel's provider was started anew, and isn't ready yet."),
        (.disconnecting, "The tunnel's provider is about to end."),
    ])
    mutating func `a provider that doesn't say why leaves no reasserting without a reason`(
        status: TunnelStatus,
        reason: String
    ) {
        _ = machine.start(session: "a")
        makeReady("a")
        _ = take(.reported(state(status, .providerStarted)), "a")
        #expect(machine.condition.status == .reasserting)
        #expect(machine.condition.reason == reason)
        _ = take(.reported(state(.connected, .answered)), "a")
        #expect(machine.condition.reason == nil)
    }

    // MARK: Adoption

    @Test mutating func `an adopted session shows what its provider says, and invents nothing`() {
        var reasserting = state(.reasserting, .answered)
        reasserting.reason = "Silence."
        machine.adopt(session: "a", reasserting, statusBefore: .connected)
        #expect(machine.condition.status == .reasserting)
        #expect(machine.condition.reason == "Silence.")
        #expect(machine.condition.session == "a")
        #expect(machine.stop(session: "a") == [.tearDown(session: "a")])
    }

    @Test mutating func `an adopted session whose provider is lost gets another one`() {
        let effects = machine.recover(session: "a", fault, statusBefore: .connected, now: now)
        #expect(effects == [.relaunch(session: "a")])
        #expect(machine.condition.status == .reasserting && machine.condition.reason == "It broke. Because.")
        _ = take(.relaunched(.success(state(.connecting, .handshakeSent))), "a")
        #expect(machine.condition.status == .reasserting)
        #expect(machine.stop(session: "a") == [.tearDown(session: "a")])
    }

    @Test mutating func `a session whose provider can't be asked stays until it is stopped or its provider ends`() {
        machine.leave(session: "a", reason: "It speaks another version.")
        #expect(machine.condition.status == .reasserting)
        #expect(machine.condition.reason == "It speaks another version.")
        #expect(machine.start(session: "b").session == "a")
        #expect(take(.providerLost(fault), "a") == [.relaunch(session: "a")])
        #expect(machine.stop(session: "a") == [.tearDown(session: "a")])
    }

    @Test mutating func `a session that could not be gone on with leaves its error`() {
        machine.noteEnd(fault)
        #expect(machine.condition.status == .disconnected)
        #expect(machine.condition.error == fault)
    }

    private let fault = ControlError(.providerFailed, "It broke.", reason: "Because.")

    private func state(_ status: TunnelStatus, _ stage: StartStage) -> ProviderState {
        ProviderState(phase: .ready, status: status, stage: stage)
    }

    private mutating func makeReady(_ session: String) {
        _ = take(.broughtUp(.success(state(.connected, .answered))), session)
    }

    private mutating func take(_ event: TunnelMachine.Event, _ session: String) -> [TunnelMachine.Effect] {
        machine.handle(event, of: session, now: now)
    }
}
