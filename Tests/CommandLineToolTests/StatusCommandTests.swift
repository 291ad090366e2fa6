import CommandLineTool
import ControlAPI
import FoundationEssentials
import Glibc
import Testing

@Suite struct StatusCommandTests {
    private func fake(_ sessions: SessionView...) async throws -> FakeTunneld {
        let fake = try await FakeTunneld()
        fake.update { $0.sessions = sessions }
        return fake
    }

    @Test func `one tunnel fills one screen`() async throws {
        var view = Samples.connected()
        view.newerConfigurationWaiting = true
        view.notes =
            ["Generation 8 is stored and not in force; generation 7 runs on.", "IPv6 is disabled here."]
            + [view.dns?.note].compactMap(\.self)
        let fake = try await fake(view)
        let ran = await Ran.tunnelctl("status", "home", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(ran.output == (try fixture("status-connected.txt")))
        #expect(ran.errors.isEmpty)
        await fake.stop()
    }

    @Test func `a tunnel that waits says for whom, and what to check`() async throws {
        var view = Samples.connecting()
        view.reason = Samples.silent.message
        view.failure = Samples.silent
        view.peers[0].failure = Samples.silent
        let fake = try await fake(view)
        let ran = await Ran.tunnelctl("status", "home", socket: fake.socket)
        #expect(ran.output == (try fixture("status-connecting.txt")))
        await fake.stop()
    }

    @Test func `a tunnel that ended with an error says which, why and what to do`() async throws {
        var view = Samples.down()
        view.since = Samples.before(90)
        view.enabled = false
        view.lastDisconnectError = ControlError(
            .providerFailed,
            "The provider ended.",
            reason: "It was killed by signal 9.",
            remedy: "Look into the log."
        )
        let fake = try await fake(view)
        let ran = await Ran.tunnelctl("status", "home", socket: fake.socket)
        #expect(ran.output == (try fixture("status-failed.txt")))
        await fake.stop()
    }

    @Test func `of tunnels with the same name it is said whose they are`() async throws {
        let fake = try await fake(Samples.connected(), Samples.down(Samples.office, "home"))
        var theirs = Samples.configuration(Samples.office, "home")
        theirs.owner = Configuration.Owner(user: 4242)
        fake.update { [theirs] in $0.configurations = [theirs] }
        for command in ["list", "status"] {
            let lines = await Ran.tunnelctl(command, socket: fake.socket).output.split(separator: "\n")
            #expect(lines.first?.hasPrefix("NAME  OWNER") == true)
            #expect(lines.contains { $0.hasPrefix("home  user 4242") })
        }
        let json = await Ran.tunnelctl("list", "--json", socket: fake.socket)
        #expect(try json.json([[String: JSONValue]].self).allSatisfy { $0.count == 4 })
        await fake.stop()
    }

    @Test func `of a provider that doesn't answer no handshake is claimed, nor denied`() async throws {
        var hung = Samples.connected()
        hung.status = .reasserting
        hung.peers = []
        let fake = try await fake(hung)
        let row = await Ran.tunnelctl("status", socket: fake.socket).output.split(separator: "\n").last ?? ""
        #expect(!row.contains("never") && row.contains("tun-home   -"), "\(row)")
        await fake.stop()
    }

    @Test func `all tunnels stand in a table, and in a list with identifiers`() async throws {
        let fake = try await fake(Samples.connected(), Samples.down(Samples.office, "office"))
        let table = await Ran.tunnelctl("status", socket: fake.socket)
        #expect(table.output == (try fixture("status-table.txt")))
        let list = await Ran.tunnelctl("list", socket: fake.socket)
        #expect(list.output == (try fixture("list.txt")))
        await fake.stop()
    }

    @Test func `without a configuration the way to the first one is told`() async throws {
        let fake = try await fake()
        for command in ["status", "list"] {
            let ran = await Ran.tunnelctl(command, socket: fake.socket)
            #expect(ran.output == "No configuration is stored. `tunnelctl import FILE` stores one.\n")
            #expect(try await Ran.tunnelctl(command, "--json", socket: fake.socket).json([JSONValue].self).isEmpty)
        }
        await fake.stop()
    }

    @Test func `as JSON one tunnel is its document and all are an array`() async throws {
        let views = [Samples.connected(), Samples.down(Samples.office, "office")]
        let fake = try await fake(views[0], views[1])
        let one = await Ran.tunnelctl("status", "home", "--json", socket: fake.socket)
        #expect(try one.json(SessionView.self) == views[0])
        let keys = try #require(try one.json(JSONValue.self).object).keys
        #expect(keys.contains("lastDisconnectError") && keys.contains("since"))
        let all = await Ran.tunnelctl("status", "--json", socket: fake.socket)
        #expect(try all.json([SessionView].self) == views)
        let list = try await Ran.tunnelctl("list", "--json", socket: fake.socket).json([JSONValue].self)
        #expect(
            list.first == [
                "identifier": .string(Samples.home), "name": "home", "enabled": true, "status": "connected",
            ]
        )
        #expect(list.count == 2)
        await fake.stop()
    }

    @Test func `a check answers with 3 where traffic goes round the tunnel`() async throws {
        var view = Samples.connected()
        view.lostRoutes = ["0.0.0.0/0", "::/0"]
        let fake = try await fake(view)
        let ran = await Ran.tunnelctl("status", "home", "--check", socket: fake.socket)
        #expect(ran.code == .notConnected)
        #expect(ran.errors == "tunnelctl: traffic to 0.0.0.0/0 ::/0 doesn't go through home.\n")
        await fake.stop()
    }

    @Test func `a check answers with 3 where a tunnel isn't connected`() async throws {
        let fake = try await fake(Samples.connected(), Samples.down(Samples.office, "office"))
        #expect(await Ran.tunnelctl("status", "home", "--check", socket: fake.socket).code == .done)
        let down = await Ran.tunnelctl("status", "office", "--check", socket: fake.socket)
        #expect(down.code == .notConnected)
        #expect(down.errors == "tunnelctl: office is disconnected.\n")
        #expect(await Ran.tunnelctl("status", "--check", socket: fake.socket).code == .notConnected)
        await fake.stop()
    }

    @Test func `a prefix of only one name or identifier is enough`() async throws {
        let fake = try await fake(Samples.connected(), Samples.down(Samples.office, "office"))
        #expect(await Ran.tunnelctl("status", "off", socket: fake.socket).output.hasPrefix("office: disconnected"))
        #expect(await Ran.tunnelctl("status", "1111", socket: fake.socket).output.hasPrefix("home: connected"))
        let unknown = await Ran.tunnelctl("status", "hoem", socket: fake.socket)
        #expect(unknown.code == .noSuchConfiguration)
        #expect(unknown.errors.contains("Did you mean home?"))
        await fake.stop()
    }

    @Test func `a name of several others is wrong usage, of one's own it isn't`() async throws {
        let fake = try await fake(Samples.down(), Samples.down(Samples.office, "home"))
        var owned = [Samples.configuration(), Samples.configuration(Samples.office, "home")]
        owned[0].owner.user = getuid() &+ 1
        owned[1].owner.user = getuid() &+ 2
        fake.update { [owned] in $0.configurations = owned }
        let ran = await Ran.tunnelctl("status", "home", socket: fake.socket)
        #expect(ran.code == .wrongUsage)
        #expect(ran.errors.contains(Samples.home) && ran.errors.contains(Samples.office))
        owned[1].owner.user = getuid()
        fake.update { [owned] in $0.configurations = owned }
        let own = await Ran.tunnelctl("status", "home", "--json", socket: fake.socket)
        #expect(try own.json(SessionView.self).identifier == Samples.office)
        await fake.stop()
    }

    @Test func `control characters of a name can't steer the terminal`() async throws {
        let fake = try await fake(Samples.down(Samples.home, "a\u{1B}[2J\nb"))
        let ran = await Ran.tunnelctl("list", socket: fake.socket, isTerminal: true)
        #expect(ran.output.contains("a\\u{1B}[2J\\nb"))
        #expect(!ran.output.contains("\u{1B}[2J"))
        await fake.stop()
    }

    @Test(
        arguments: [
            (true, [:], true), (false, [:], false), (true, ["NO_COLOR": "1"], false), (true, ["TERM": "dumb"], false),
            (true, ["NO_COLOR": ""], true),
        ] as [(Bool, [String: String], Bool)]
    )
    func `colour is for terminals of people who haven't refused it`(
        _ isTerminal: Bool,
        _ environment: [String: String],
        _ coloured: Bool
    ) async throws {
        let fake = try await fake(Samples.connected())
        let ran = await Ran.tunnelctl("list", socket: fake.socket, isTerminal: isTerminal, environment: environment)
        #expect(ran.output.contains("\u{1B}[32mconnected\u{1B}[0m") == coloured)
        await fake.stop()
    }

    @Test func `output that can't be written for another reason is told`() async throws {
        let fake = try await fake(Samples.connected())
        let full = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
        let errors = CapturedText()
        let tool = CommandLineTool(
            CommandLineTool.Surroundings(
                input: -1,
                output: DescriptorSink(full),
                errors: errors,
                outputIsTerminal: false,
                environment: { $0 == "TUNNELD_SOCKET" ? fake.socket : nil },
                interruptions: { AsyncStream { $0.finish() } }
            )
        )
        #expect(await tool.run(["list"]) == .failed)
        #expect(errors.text.contains("ENOSPC"))
        close(full)
        await fake.stop()
    }

    @Test func `output that nobody reads ends the program quietly`() async throws {
        let fake = try await fake(Samples.connected())
        let ran = await Ran.tunnelctl("list", socket: fake.socket, output: CapturedText(closesAfter: 0))
        #expect(ran.code == .outputClosed)
        #expect(ran.errors.isEmpty)
        await fake.stop()
    }
}
