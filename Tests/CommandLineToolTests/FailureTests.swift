import CommandLineTool
import ControlAPI
import FoundationEssentials
import Testing

/// What every command says and ends with when it can't be done.
@Suite struct FailureTests {
    private static let commands: [[String]] = [
        ["list"], ["status"], ["up", "home"], ["down", "home"], ["down", "--all"], ["show", "home"], ["watch"],
        ["export", "home"], ["rename", "home", "new"], ["remove", "home"], ["stats", "home"], ["new", "other"],
    ]

    @Test(arguments: commands)
    func `without tunneld the exit code is 6, with the reason and the remedy`(_ arguments: [String]) async throws {
        let ran = await Ran.run(arguments, socket: "/nonexistent/control")
        #expect(ran.code == .tunneldNotRunning)
        #expect(ran.output.isEmpty)
        #expect(ran.errors.hasPrefix("tunnelctl: tunneld isn't running.\n  why: /nonexistent/control: "))
        #expect(ran.errors.contains("\n  do: Start it as root"))
    }

    @Test func `with JSON an error is the document of a ControlError on standard error`() async throws {
        let ran = await Ran.tunnelctl("status", "--json", socket: "/nonexistent/control")
        #expect(ran.code == .tunneldNotRunning)
        let error = try JSONDecoder().decode(ControlError.self, from: Data(ran.errors.utf8))
        #expect(error.name == .notRunning)
        let keys = try JSONDecoder().decode(JSONValue.self, from: Data(ran.errors.utf8)).object?.keys.sorted()
        #expect(keys == ["code", "domain", "field", "message", "name", "reason", "remedy", "underlying"])
    }

    @Test(arguments: [["--json", "stauts"], ["status", "--jsn", "--json"]])
    func `wrong usage has exit code 2, and with JSON a document`(_ arguments: [String]) async throws {
        let ran = await Ran.run(arguments, socket: "/nonexistent/control")
        #expect(ran.code == .wrongUsage)
        let error = try JSONDecoder().decode(ControlError.self, from: Data(ran.errors.utf8))
        #expect(error.remedy?.hasPrefix("Did you mean ") == true)
    }

    @Test(arguments: [
        (["down"], "Give a NAME, or --all.", "Usage: tunnelctl down [NAME] [--all]"),
        (["down", "home", "--all"], "--all and a NAME exclude each other.", "Usage: tunnelctl down [NAME] [--all]"),
        (["import", "-"], "Standard input has no name.", "Add --name NAME."),
        (["help", "xyzzy"], "There is no command \"xyzzy\".", "Usage: tunnelctl help [COMMAND]"),
        (
            ["up", "home", "--timeout", "soon"], "--timeout takes a number of seconds above 0, such as 30.",
            "Usage: tunnelctl up NAME [--no-wait] [--timeout S]"
        ),
        (
            ["new", "home", "--endpoint", "a:1"], "--endpoint stands before any --peer.",
            "Write --peer KEY and then what is this peer's."
        ),
    ])
    func `what only a command finds wrong has the exit code and a hint, too`(
        arguments: [String],
        message: String,
        hint: String
    ) async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.sessions = [Samples.connected()] }
        let ran = await Ran.run(arguments, socket: fake.socket)
        #expect(ran.code == .wrongUsage)
        #expect(ran.errors == "tunnelctl: \(message)\n  do: \(hint)\n")
        await fake.stop()
    }

    @Test func `a call that tunneld doesn't permit has exit code 5`() async throws {
        let fake = try await FakeTunneld()
        let error = ControlError(
            .permissionDenied,
            "Can't stop home.",
            reason: "It is the system's.",
            remedy: "Use sudo."
        )
        fake.update {
            $0.sessions = [Samples.connected()]
            $0.errors["Stop"] = error
        }
        let ran = await Ran.tunnelctl("down", "home", socket: fake.socket)
        #expect(ran.code == .noPermission)
        #expect(ran.errors == "tunnelctl: Can't stop home.\n  why: It is the system's.\n  do: Use sudo.\n")
        await fake.stop()
    }

    @Test func `an older tunneld is told by its version, never as an unknown method`() async throws {
        let fake = try await FakeTunneld(version: "0.0.1", interfaces: [])
        let ran = await Ran.tunnelctl("status", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.errors.contains("This client is newer than tunneld"))
        #expect(ran.errors.contains("tunneld is version 0.0.1, this client \(ProductVersion.version)."))
        #expect(!ran.errors.contains("NotFound"))
        await fake.stop()
    }
}
