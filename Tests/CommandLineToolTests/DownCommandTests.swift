import CommandLineTool
import ControlAPI
import Testing

@Suite struct DownCommandTests {
    private func fake(_ sessions: SessionView...) async throws -> FakeTunneld {
        let fake = try await FakeTunneld()
        fake.update { $0.sessions = sessions }
        return fake
    }

    @Test func `it waits until the tunnel is down`() async throws {
        let fake = try await fake(Samples.connected(), Samples.connected(Samples.office, "office"))
        fake.update { state in
            state.onStop = { fake, identifier in
                fake.change(identifier) { $0.status = .disconnecting }
                Task {
                    try? await Task.sleep(for: .milliseconds(100))
                    fake.change(identifier) { $0.takeDown() }
                }
            }
        }
        let ran = await Ran.tunnelctl("down", "home", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(ran.output == "home is down.\n")
        #expect(fake.update { $0.sessions.map(\.status) } == [.disconnected, .connected])
        await fake.stop()
    }

    @Test func `a tunnel that is down already is no error`() async throws {
        let fake = try await fake(Samples.down())
        let ran = await Ran.tunnelctl("down", "home", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(ran.output == "home is already down.\n")
        #expect(fake.update { $0.calls } == ["List", "Status"])
        await fake.stop()
    }

    @Test func `a tunnel that doesn't come down is a failure, one whose end wasn't told isn't`() async throws {
        let fake = try await fake(Samples.connected(), Samples.connected(Samples.office, "office"))
        fake.update { state in
            state.onStop = { fake, identifier in
                guard identifier == Samples.office else { return }
                fake.update { $0.sessions[1].takeDown() }
            }
        }
        async let untold = Ran.tunnelctl("down", "office", socket: fake.socket)
        let stuck = await Ran.tunnelctl("down", "home", socket: fake.socket)
        #expect(stuck.code == .failed)
        #expect(stuck.errors.contains("home isn't down yet."))
        let down = await untold
        #expect(down.code == .done)
        #expect(down.output == "office is down.\n")
        await fake.stop()
    }

    @Test func `a prefix is never taken`() async throws {
        let fake = try await fake(Samples.connected())
        let ran = await Ran.tunnelctl("down", "hom", socket: fake.socket)
        #expect(ran.code == .noSuchConfiguration)
        #expect(ran.errors.contains("never a prefix"))
        #expect(fake.update { $0.calls } == ["List"])
        await fake.stop()
    }

    @Test func `all that run are stopped`() async throws {
        let fake = try await fake(
            Samples.connected(),
            Samples.down(Samples.office, "office"),
            Samples.connected(Samples.newIdentifier, "work")
        )
        let ran = await Ran.tunnelctl("down", "--all", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(Set(ran.output.split(separator: "\n")) == ["home is down.", "work is down."])
        let again = await Ran.tunnelctl("down", "--all", socket: fake.socket)
        #expect(again.output == "No tunnel is up.\n")
        #expect(again.code == .done)
        await fake.stop()
    }

    @Test func `what may not be stopped stays up, which is told; it is a failure where it is all`() async throws {
        let fake = try await fake(Samples.connected(), Samples.connected(Samples.office, "office"))
        let denial = ControlError(.permissionDenied, "Can't stop home.")
        fake.update { $0.denied = [Samples.home: denial] }
        let some = await Ran.tunnelctl("down", "--all", socket: fake.socket)
        #expect(some.code == .done)
        #expect(some.output == "office is down.\n")
        #expect(some.errors == "tunnelctl: Can't stop home. It stays up.\n")
        let all = await Ran.tunnelctl("down", "--all", socket: fake.socket)
        #expect(all.code == .noPermission)
        #expect(all.errors == "tunnelctl: Can't stop home.\n")
        await fake.stop()
    }

    @Test func `as JSON the state afterwards is told`() async throws {
        let fake = try await fake(Samples.connected(), Samples.connected(Samples.office, "office"))
        let one = await Ran.tunnelctl("down", "home", "--json", socket: fake.socket)
        #expect(try one.json(SessionView.self).status == .disconnected)
        let all = await Ran.tunnelctl("down", "--all", "--json", socket: fake.socket)
        #expect(try all.json([SessionView].self).map(\.name) == ["office"])
        await fake.stop()
    }

    @Test func `a tunnel that is started again at once counts as stopped`() async throws {
        let fake = try await fake(Samples.connected(session: "s0"))
        fake.update { state in
            state.onStop = { fake, identifier in fake.change(identifier) { $0 = Samples.connecting(session: "s1") } }
        }
        #expect(await Ran.tunnelctl("down", "home", socket: fake.socket).code == .done)
        await fake.stop()
    }

    @Test(arguments: [["down"], ["down", "home", "--all"]])
    func `one name or all, not both and not neither`(_ arguments: [String]) async throws {
        #expect(await Ran.run(arguments, socket: "/nonexistent").code == .wrongUsage)
    }
}
