import CommandLineTool
import ControlAPI
import FoundationEssentials
import TestSupport
import Testing

@Suite struct UpCommandTests {
    /// A tunneld whose tunnel goes through these states once it is started: through the first alone until the client has
    /// read it, which on a busy machine may take longer than all the others.
    private func fake(
        _ steps: SessionView...,
        before: SessionView = Samples.down(),
        alreadyRunning: Bool = false
    ) async throws -> FakeTunneld {
        let fake = try await FakeTunneld()
        fake.update { state in
            state.sessions = [before]
            state.onStart = { fake, identifier in
                Task {
                    for (number, step) in steps.enumerated() {
                        if number == 1 {
                            _ = await eventually {
                                fake.update { $0.calls.drop { $0 != "Start" }.contains("Status") }
                            }
                        }
                        fake.change(identifier) { $0 = step }
                        try? await Task.sleep(for: .milliseconds(20))
                    }
                }
                return SessionsCalls.StartReply(session: "s1", alreadyRunning: alreadyRunning)
            }
        }
        return fake
    }

    /// What was printed without the seconds in front.
    private func lines(_ ran: Ran) -> [String] {
        ran.output.split(separator: "\n").map { String($0.replacing(/^ +[0-9]+\.[0-9] s {2}/, with: "")) }
    }

    @Test func `the stages are shown and the end is the answer of a peer`() async throws {
        let fake = try await fake(
            Samples.connecting(.launching),
            Samples.connecting(.providerStarted),
            Samples.connecting(.settingsApplied),
            Samples.connecting(.handshakeSent),
            Samples.connected()
        )
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(
            lines(ran) == [
                "home is starting.", "provider started", "settings applied", "handshake sent", "answered",
                "home: connected on tun-home, 192.0.2.1:51820 (vpn.example.org:51820) answered",
                "  DNS not applied: the tunnel's name servers can't be put in force.",
            ]
        )
        #expect(fake.update { $0.calls }.filter { $0 != "Status" } == ["List", "Monitor", "Start"])
        await fake.stop()
    }

    @Test func `as JSON each change is the document of status in a line`() async throws {
        let fake = try await fake(Samples.connecting(.providerStarted), Samples.connected())
        let ran = await Ran.tunnelctl("up", "home", "--json", socket: fake.socket)
        #expect(ran.code == .done)
        let last = try #require(try ran.jsonLines(SessionView.self).last)
        #expect(last.status == .connected && last.session == "s1")
        await fake.stop()
    }

    @Test func `a tunnel that is up already is said to be`() async throws {
        let fake = try await fake(before: Samples.connected(), alreadyRunning: true)
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .done)
        let lines = lines(ran)
        #expect(lines.first == "home is already up.")
        #expect(lines.dropFirst().first?.hasPrefix("home: connected") == true, "the stages are no news")
        let json = await Ran.tunnelctl("up", "home", "--json", socket: fake.socket)
        #expect(try json.jsonLines(SessionView.self).map(\.status) == [.connected])
        await fake.stop()
    }

    @Test(arguments: [
        (TunnelStatus.connecting, "home is already starting (handshake sent); waiting for it."),
        (.reasserting, "home is already up and reasserting its connection; waiting for it."),
        (.disconnecting, "home is still being stopped and starts anew after that; waiting for it."),
    ])
    func `a tunnel that isn't connected yet is said to be what it is, and waited for`(
        status: TunnelStatus,
        line: String
    ) async throws {
        var running = Samples.connecting()
        running.status = status
        let fake = try await fake(Samples.connected(), before: running, alreadyRunning: true)
        fake.update { $0.statusDelay = .milliseconds(100) }
        fake.update { state in
            let onStart = state.onStart
            state.onStart = { fake, identifier in
                Task {
                    try? await Task.sleep(for: .seconds(1))
                    _ = onStart(fake, identifier)
                }
                return SessionsCalls.StartReply(session: "s1", alreadyRunning: true)
            }
        }
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(lines(ran).first == line)
        await fake.stop()
    }

    @Test func `what stands above already isn't told again at the end, and a wait that goes on is one line`()
        async throws
    {
        var view = Samples.connecting()
        view.failure = Samples.silent
        let fake = try await fake(view)
        let ran = await Ran.tunnelctl("up", "home", "--timeout", "6", socket: fake.socket)
        #expect(ran.code == .notConnected)
        #expect(ran.output.components(separatedBy: Samples.silent.message).count == 2)
        #expect(ran.output.contains(" s  still waiting: 2 handshakes sent\n"))
        #expect(
            ran.errors == """
                tunnelctl: home isn't connected after 6 s; it keeps trying.
                  why: \(Samples.silent.message)
                  do: `tunnelctl status home` shows how far it is, `tunnelctl down home` stops it.

                """
        )
        await fake.stop()
    }

    @Test func `a tunnel that isn't ready yet is told in words of what is going on`() {
        var view = Samples.connecting(.launching)
        #expect(WaitingText.trouble(view).what == "Its provider's process is still being started.")
        view = Samples.connecting(.providerStarted)
        let setUp = "Its provider runs, and its interface, addresses and routes are still being set up."
        #expect(WaitingText.trouble(view).what == setUp)
        view.reason = "The tunnel's provider ended."
        #expect(WaitingText.trouble(view).what == "The tunnel's provider ended. \(setUp)")
    }

    @Test func `of several peers each is told with its own reason`() async throws {
        var view = Samples.connecting()
        var other = Samples.peer(answered: false)
        other.publicKey = "other"
        other.failure = FailureView(
            kind: .unreachable,
            message: "There is no way to 192.0.2.9:51820.",
            remedy: "Check the connection.",
            endpoint: "192.0.2.9:51820"
        )
        view.peers[0].failure = Samples.silent
        view.peers.append(other)
        view.failure = Samples.silent
        let trouble = WaitingText.trouble(view)
        #expect(trouble.what == "None of 2 peers has answered yet.")
        #expect(
            trouble.peers == [
                "peer \(Samples.peerKey): \(Samples.silent.message)", "peer other: There is no way to 192.0.2.9:51820.",
            ]
        )
        #expect(trouble.remedy == "\(Samples.silent.remedy) Check the connection.")
    }

    @Test func `a gateway is connected when it is ready`() async throws {
        var view = Samples.connected()
        view.peers[0].latestHandshake = nil
        view.peers[0].configuredEndpoint = nil
        view.dns = nil
        let fake = try await fake(view)
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(lines(ran).last == "home: connected on tun-home, ready to be called by its peers")
        await fake.stop()
    }

    @Test func `without waiting it returns once the start is accepted`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("up", "home", "--no-wait", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(ran.output == "home is starting; `tunnelctl status home` shows how far it is.\n")
        #expect(fake.update { $0.calls } == ["List", "Status", "Start"])
        let reply = try await Ran.tunnelctl("up", "home", "--no-wait", "--json", socket: fake.socket)
            .json(SessionsCalls.StartReply.self)
        #expect(reply.session == "s1")
        await fake.stop()
    }

    @Test func `a failure that leaves traffic blocked says so, and how to lift that`() async throws {
        var failed = Samples.down()
        failed.lastDisconnectError = ControlError(.networkSettingsFailed, "It broke.", remedy: "Mend it.")
        failed.block = BlockView(
            inForce: true,
            since: Samples.before(2),
            held: true,
            holders: ["home"],
            reason: "Nobody stopped it.",
            remedy: "`tunnelctl down home` lifts it.",
            restored: 0,
            lastRestored: nil
        )
        let fake = try await fake(Samples.connecting(.providerStarted), failed)
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(
            ran.errors.contains(
                "do: Mend it. Traffic stays blocked: Nobody stopped it. `tunnelctl down home` lifts it.\n"
            )
        )
        await fake.stop()
    }

    @Test func `after the wait it ends with 3 and leaves the tunnel trying`() async throws {
        let fake = try await fake(Samples.connecting())
        let ran = await Ran.tunnelctl("up", "home", "--timeout", "2.5", socket: fake.socket)
        #expect(ran.code == .notConnected)
        #expect(ran.errors.contains("192.0.2.1:51820 (vpn.example.org:51820), 2 handshakes sent"))
        #expect(ran.errors.hasPrefix("tunnelctl: home isn't connected after 2.5 s; it keeps trying.\n"))
        #expect(ran.errors.contains("`tunnelctl down home` stops it."))
        #expect(fake.update { $0.calls }.contains("Stop") == false)
        await fake.stop()
    }

    @Test func `a peer that doesn't answer is told within five seconds, with endpoint, attempts and what to check`()
        async throws
    {
        let fake = try await fake(Samples.connecting())
        let output = CapturedText()
        let begin = ContinuousClock.now
        async let ran = Ran.tunnelctl("up", "home", "--timeout", "60", socket: fake.socket, output: output)
        #expect(await eventually { output.text.contains("2 handshakes sent") })
        // Five times the bound: machines are shared and noisy.
        #expect(ContinuousClock.now - begin < .seconds(25))
        #expect(output.text.contains("No peer has answered yet."))
        #expect(output.text.contains("192.0.2.1:51820 (vpn.example.org:51820)"))
        #expect(output.text.contains("do: Check the endpoint's address and port"))
        fake.change(Samples.home) { $0 = Samples.connected() }
        #expect(await ran.code == .done)
        await fake.stop()
    }

    @Test func `a change of the failure's class is told at once`() async throws {
        var refused = Samples.connecting()
        refused.failure = FailureView(
            kind: .refused,
            message: "Nobody listens there.",
            remedy: "The port.",
            endpoint: nil
        )
        var silent = Samples.connecting()
        silent.failure = Samples.silent
        let fake = try await fake(refused, refused, silent, Samples.connected())
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(ran.output.components(separatedBy: "Nobody listens there.").count == 2)
        #expect(ran.output.components(separatedBy: Samples.silent.message).count == 2)
        #expect(ran.output.contains("do: The port."))
        await fake.stop()
    }

    @Test func `a start that ends in an error ends with 1, the error and the remedy`() async throws {
        var down = Samples.down()
        down.lastDisconnectError = ControlError(
            .networkSettingsFailed,
            "The address can't be set.",
            reason: "EACCES",
            remedy: "Run it as root."
        )
        let fake = try await fake(Samples.connecting(.providerStarted), down)
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.errors == "tunnelctl: The address can't be set.\n  why: EACCES\n  do: Run it as root.\n")
        await fake.stop()
    }

    @Test func `the end of an older session is passed over`() async throws {
        var stopping = Samples.connected(session: "s0")
        stopping.status = .disconnecting
        let fake = try await fake(Samples.connecting(.launching), Samples.connected(), before: stopping)
        #expect(await Ran.tunnelctl("up", "home", socket: fake.socket).code == .done)
        await fake.stop()
    }

    @Test(arguments: [false, true])
    func `a session that somebody else stops ends the wait at once, with who it was`(isStartedAnew: Bool) async throws {
        var stopping = Samples.connecting()
        stopping.status = .disconnecting
        stopping.reason = "User 7 stopped it."
        var down = Samples.down()
        down.reason = stopping.reason
        let fake =
            isStartedAnew
            ? try await fake(Samples.connecting(), stopping, Samples.connected(session: "s2"))
            : try await fake(Samples.connecting(), stopping, down)
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(
            ran.errors
                == (isStartedAnew
                    ? """
                    tunnelctl: home was stopped while it was starting.
                      why: User 7 stopped it. It was started anew since, and is connected.
                      do: `tunnelctl status home` shows the new session, `tunnelctl up home` waits for it.

                    """
                    : """
                    tunnelctl: home was stopped while it was starting.
                      why: User 7 stopped it.
                      do: `tunnelctl up home` starts it again.

                    """)
        )
        await fake.stop()
    }

    @Test func `a start that was stopped while it waited for the end of an older session ends the wait`() async throws {
        var stopping = Samples.connected(session: "s0")
        stopping.status = .disconnecting
        let fake = try await fake(stopping, Samples.down(), Samples.connected(session: "s2"), before: stopping)
        fake.update { $0.statusDelay = .milliseconds(200) }
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.errors.contains("It was started anew since, and is connected."))
        await fake.stop()
    }

    @Test func `an answer at the last moment of the wait counts`() async throws {
        let fake = try await fake(Samples.connecting())
        fake.update { state in
            state.onStatus = { state in
                if state.calls.count(where: { $0 == "Status" }) == 3 { state.sessions = [Samples.connected()] }
            }
        }
        let ran = await Ran.tunnelctl("up", "home", "--timeout", "0.3", socket: fake.socket)
        #expect(ran.code == .done)
        await fake.stop()
    }

    @Test func `a start that is refused ends with the refusal`() async throws {
        let fake = try await fake()
        fake.update { $0.errors["Start"] = ControlError(.configurationDisabled, "home is disabled.") }
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.errors == "tunnelctl: home is disabled.\n")
        await fake.stop()
    }

    @Test func `an interruption ends the wait and not the tunnel, and says so`() async throws {
        let fake = try await fake(Samples.connecting())
        let (interruptions, continuation) = AsyncStream<Void>.makeStream()
        let output = CapturedText()
        async let ran = Ran.tunnelctl(
            "up",
            "home",
            socket: fake.socket,
            interruptions: interruptions,
            output: output
        )
        #expect(await eventually { output.text.contains("handshake sent") })
        continuation.yield()
        let result = await ran
        #expect(result.code == .notConnected)
        #expect(result.errors.hasPrefix("tunnelctl: Stopped waiting; home keeps trying."))
        #expect(fake.update { $0.calls }.contains("Stop") == false)
        await fake.stop()
    }

    @Test func `a tunneld that goes away for good ends the wait with 6`() async throws {
        let fake = try await fake(Samples.connecting())
        let output = CapturedText()
        async let ran = Ran.tunnelctl("up", "home", "--timeout", "15", socket: fake.socket, output: output)
        #expect(await eventually { output.text.contains("handshake sent") })
        await fake.stop()
        let result = await ran
        #expect(result.code == .tunneldNotRunning)
        #expect(result.errors.contains("The connection to tunneld was lost; what runs goes on."))
    }

    @Test(arguments: ["0", "-1", "soon", "1e12", "nan"])
    func `a timeout that is no number of seconds is wrong usage`(_ text: String) async throws {
        let ran = await Ran.tunnelctl("up", "home", "--timeout=\(text)", socket: "/nonexistent")
        #expect(ran.code == .wrongUsage)
    }
}
