@testable import CommandLineTool
import ControlAPI
import TestSupport
import Testing

@Suite struct WatchCommandTests {
    @Test func `the present state comes first, then a line for each event, until interrupted`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.sessions = [Samples.down(), Samples.connected(Samples.office, "office")] }
        let (interruptions, continuation) = AsyncStream<Void>.makeStream()
        let output = CapturedText()
        async let ran = Ran.tunnelctl("watch", socket: fake.socket, interruptions: interruptions, output: output)
        #expect(await eventually { output.text.contains("office: connected") })
        fake.change(Samples.home) { $0 = Samples.connecting() }
        fake.change(Samples.home, error: ControlError(.providerFailed, "It ended.", reason: "Why.")) { $0.takeDown() }
        var gone = Samples.down()
        fake.tell(.configuration, gone)
        gone.status = .invalid
        fake.tell(.configuration, gone)
        #expect(await eventually { output.text.contains("removed") })
        continuation.yield()
        #expect(await ran.code == .done)
        #expect(output.text == (try fixture("watch.txt")))
        await fake.stop()
    }

    @Test func `a line about trouble has its reason, wherever it was told`() {
        var view = Samples.connected()
        view.status = .reasserting
        func line(_ reason: String?) -> String? {
            let event = SessionsCalls.Event(
                sequence: 1,
                time: Samples.now,
                kind: .status,
                identifier: view.identifier,
                name: "home",
                status: .reasserting,
                reason: reason,
                error: nil,
                snapshot: view
            )
            return WatchCommand.line(event)?.rendered(colour: false)
        }
        #expect(line("No peer answers.") == "2026-02-01 00:00:00 UTC  home: reasserting: No peer answers.")
        view.failure = Samples.silent
        #expect(line(nil) == "2026-02-01 00:00:00 UTC  home: reasserting: Nothing came back from 192.0.2.1:51820.")
    }

    @Test func `as JSON the events are told as they come`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.sessions = [Samples.down()] }
        let (interruptions, continuation) = AsyncStream<Void>.makeStream()
        let output = CapturedText()
        async let ran = Ran.tunnelctl(
            "watch",
            "home",
            "--json",
            socket: fake.socket,
            interruptions: interruptions,
            output: output
        )
        #expect(await eventually { output.text.contains("ready") })
        fake.change(Samples.home) { $0 = Samples.connected() }
        #expect(await eventually { output.text.contains("\"status\":\"connected\"") })
        continuation.yield()
        let events = try await ran.jsonLines(SessionsCalls.Event.self)
        #expect(events.map(\.kind) == [.present, .ready, .status])
        #expect(events.last?.snapshot == Samples.connected())
        await fake.stop()
    }

    @Test func `what was missed is told by its number, and the present state after it`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.sessions = [Samples.down()] }
        let (interruptions, continuation) = AsyncStream<Void>.makeStream()
        let output = CapturedText()
        async let ran = Ran.tunnelctl("watch", socket: fake.socket, interruptions: interruptions, output: output)
        #expect(await eventually { output.text.contains("home: disconnected") })
        fake.update { $0.sessions = [Samples.connected()] }
        try fake.resynchronise(lost: 12)
        #expect(await eventually { output.text.contains("home: connected") })
        continuation.yield()
        #expect(await ran.code == .done)
        let lines = output.text.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1].hasSuffix("  12 events were missed; the present state follows"))
        await fake.stop()
    }

    @Test func `an up whose news were missed goes on from the present state`() async throws {
        let fake = try await FakeTunneld()
        fake.update {
            $0.sessions = [Samples.down()]
            $0.onStart = { fake, identifier in
                fake.update { $0.sessions = [Samples.connected()] }
                try? fake.resynchronise(lost: 300)
                return SessionsCalls.StartReply(session: Samples.connected().session ?? "", alreadyRunning: false)
            }
        }
        let ran = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(ran.output.contains("home: connected"))
        await fake.stop()
    }

    @Test func `a tunneld that went away is told, and waited for`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.sessions = [Samples.connected()] }
        let (interruptions, continuation) = AsyncStream<Void>.makeStream()
        let output = CapturedText()
        async let ran = Ran.tunnelctl("watch", socket: fake.socket, interruptions: interruptions, output: output)
        #expect(await eventually { output.text.contains("home: connected") })
        await fake.stop(folderStays: true)
        let next = try await FakeTunneld(at: fake.socket)
        next.update { $0.sessions = [Samples.connecting()] }
        #expect(await eventually { output.text.contains("home: connecting") })
        continuation.yield()
        let result = await ran
        #expect(result.errors.contains("The connection to tunneld was lost; running tunnels go on."))
        #expect(result.errors.contains("Connected to tunneld again; the present state follows."))
        await next.stop()
    }
}
