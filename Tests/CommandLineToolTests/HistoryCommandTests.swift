import ControlAPI
import Testing

@testable import CommandLineTool

/// `history` and `restore`.
@Suite struct HistoryCommandTests {
    private func fake(lost: Bool = false) async throws -> FakeTunneld {
        let fake = try await FakeTunneld()
        var first = ConfigurationsCalls.Generation(generation: 1, time: Samples.before(3600), isPresent: false)
        first.name = "home"
        var second = ConfigurationsCalls.Generation(generation: 2, time: Samples.now, isPresent: !lost)
        second.name = "home"
        second.changes = ["enabled", "username"]
        var third = ConfigurationsCalls.Generation(generation: 3, time: Samples.now, isPresent: false)
        third.fault = "it ends too early"
        let generations = lost ? [first, second, third] : [first, second]
        fake.update {
            $0.history.generations = generations
            if lost {
                $0.history.lost = "Its file was damaged."
                $0.lost = [
                    .init(
                        identifier: Samples.home,
                        name: "home",
                        owner: .init(user: 0),
                        generation: 2,
                        reason: "Its file was damaged."
                    )
                ]
            } else {
                $0.configurations = [Samples.configuration()]
            }
        }
        return fake
    }

    @Test func `the generations are listed, the newest first`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("history", "home", socket: fake.socket)
        #expect(ran.code == .done, "\(ran.errors)")
        let lines = ran.output.split(separator: "\n").map(String.init)
        #expect(lines.count == 3 && lines[0].hasPrefix("GENERATION"))
        #expect(lines[1].hasPrefix("2 (present)") && lines[1].hasSuffix("enabled, username"))
        #expect(lines[2].hasPrefix("1 "))
        await fake.stop()
    }

    @Test func `a lost configuration is found by its name, and what brings it back is told`() async throws {
        let fake = try await fake(lost: true)
        let ran = await Ran.tunnelctl("history", "home", socket: fake.socket)
        #expect(ran.code == .done, "\(ran.errors)")
        #expect(ran.output.contains("can't be restored: it ends too early"))
        #expect(ran.output.hasSuffix("Lost: Its file was damaged.\n`tunnelctl restore home 2` brings it back.\n"))
        // Who looks for it elsewhere is told, too.
        let up = await Ran.tunnelctl("up", "home", socket: fake.socket)
        #expect(up.code == .noSuchConfiguration)
        #expect(
            up.errors.contains("why: It is lost. Its file was damaged.\n  do: `tunnelctl history home` shows"),
            "\(up.errors)"
        )
        let restored = await Ran.tunnelctl("restore", "home", "2", socket: fake.socket)
        #expect(restored.code == .done, "\(restored.errors)")
        #expect(fake.update { $0.restores }.first?.loaded == nil)
        await fake.stop()
    }

    @Test func `a lost configuration is removed by its whole name`() async throws {
        let fake = try await fake(lost: true)
        #expect(await Ran.tunnelctl("remove", "hom", socket: fake.socket).code == .noSuchConfiguration)
        let ran = await Ran.tunnelctl("remove", "home", socket: fake.socket)
        #expect(ran.output == "home was lost; what was kept of it is removed, with its secrets.\n", "\(ran.errors)")
        #expect(fake.update { $0.removals } == [Samples.home] && fake.update { $0.removedGenerations } == [2])
        await fake.stop()
    }

    @Test func `a restore says which generation it knows, and what it came to`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("restore", "home", "1", socket: fake.socket)
        #expect(ran.output == "Generation 1 of home is restored, as generation 8.\n  warning: w\n")
        let restore = try #require(fake.update { $0.restores }.first)
        #expect(restore.identifier == Samples.home && restore.generation == 1 && restore.loaded == 7)
        await fake.stop()
    }

    @Test(arguments: ["0", "x", "-1"])
    func `what is no generation is wrong usage`(text: String) async throws {
        let fake = try await fake()
        let ran = await Ran.run(["restore", "home", "--", text], socket: fake.socket)
        #expect(ran.code == .wrongUsage && fake.update { $0.restores }.isEmpty)
        await fake.stop()
    }
}
