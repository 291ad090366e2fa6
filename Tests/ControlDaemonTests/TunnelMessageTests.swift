import ControlAPI
import Glibc
import NetworkTypes
import TestSupport
import Testing

@testable import ControlDaemon

/// Messages to a real provider process: each gets one answer, whatever becomes of the provider.
@Suite(.timeLimit(.minutes(2))) struct TunnelMessageTests {
    @Test func `a message gets the provider's answer, or none where it has none`() async throws {
        let (tunnel, _, bench) = try await running()
        #expect(try await ask(tunnel, "hello") == "hello")
        #expect(try await tunnel.send(DataValue("nothing".utf8), to: nil, within: .seconds(30)).reply == nil)
        #expect(try await tunnel.send(nil, to: nil, within: .seconds(30)).reply == DataValue([]))
        #expect(await error(tunnel, "unsupported")?.name == .messagesUnsupported)
        #expect(await error(tunnel, "unknown")?.name == .messagesUnsupported)
        let refused = await error(tunnel, "refuse")
        #expect(refused?.name == .providerFailed)
        #expect(
            refused?.underlying
                == ProviderError(domain: "com.example.vpn", code: 42, message: "The server refused the account.")
        )
        #expect(await error(tunnel, "long \(MessageCalls.limit + 1)")?.message == "The provider's answer is too long.")
        await end(tunnel, bench)
    }

    @Test func `messages in flight are answered each once, and one that takes long holds up nothing`() async throws {
        let (tunnel, configuration, bench) = try await running()
        async let held = outcomes(tunnel, (0..<Tunnel.messageLimit - 1).map { "hold \($0)" })
        #expect(await eventually { await tunnel.openMessages == Tunnel.messageLimit - 1 })
        // The provider's other calls aren't behind them.
        #expect(await tunnel.view(of: configuration).status == .connected)
        var released = false
        // Those that wait for the socket are held by now, or are released by the next.
        while await tunnel.openMessages > 0 || !released {
            released = try await ask(tunnel, "release") == "released"
        }
        #expect(await held.sorted() == (0..<Tunnel.messageLimit - 1).map(String.init).sorted())
        await end(tunnel, bench)
    }

    @Test func `one message too many is refused at once`() async throws {
        let (tunnel, _, bench) = try await running()
        async let held = outcomes(tunnel, (0..<Tunnel.messageLimit).map { "hold \($0)" })
        #expect(await eventually { await tunnel.openMessages == Tunnel.messageLimit })
        #expect(await error(tunnel, "more")?.name == .tooMany)
        await end(tunnel, bench)
        #expect(await held.allSatisfy { $0 == "TunnelNotRunning" })
        #expect(await tunnel.openMessages == 0)
    }

    @Test func `messages in flight are told of the provider's death, and the next provider answers again`() async throws
    {
        let (tunnel, configuration, bench) = try await running()
        let witness = Witness(bench.hub)
        async let held = outcomes(tunnel, (0..<10).map { "hold \($0)" })
        #expect(await eventually { await tunnel.openMessages == 10 })
        let process = try #require(await tunnel.view(of: configuration).providerProcess)
        // All of them have reached it, for the calls of one socket come in their order.
        #expect(try await ask(tunnel, "after") == "after")
        kill(Int32(process), SIGKILL)
        #expect(await held == Array(repeating: "ProviderDied", count: 10))
        _ = try await witness.event { $0.status == .reasserting }
        // One that comes while another is launched is waited for.
        #expect(try await ask(tunnel, "again") == "again")
        await end(tunnel, bench)
    }

    @Test func `a provider that dies of a message is told as dead`() async throws {
        let (tunnel, _, bench) = try await running()
        #expect(await error(tunnel, "die")?.name == .providerDied)
        await end(tunnel, bench)
    }

    @Test func `no answer in time is told, also by a provider that is stopped`() async throws {
        let (tunnel, configuration, bench) = try await running()
        let late = await error(tunnel, "hold", within: .milliseconds(200))
        #expect(late?.name == .timedOut)
        #expect(late?.message == "The provider didn't answer the message within 0.2 seconds.")
        let process = Int32(try #require(await tunnel.view(of: configuration).providerProcess))
        kill(process, SIGSTOP)
        #expect(await error(tunnel, "hello", within: .milliseconds(200))?.name == .timedOut)
        kill(process, SIGCONT)
        await end(tunnel, bench)
    }

    @Test func `without a session nobody takes a message, nor does a newer one take an older one's`() async throws {
        let (tunnel, configuration, bench) = try await running()
        let session = try #require(await tunnel.view(of: configuration).session)
        #expect(
            try await tunnel.send(DataValue("a".utf8), to: session, within: .seconds(30)).reply == DataValue("a".utf8)
        )
        await end(tunnel, bench)
        #expect(await error(tunnel, "hello")?.name == .tunnelNotRunning)
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        // While it is started it is waited for.
        #expect(try await ask(tunnel, "early") == "early")
        _ = try await witness.statuses(until: .connected)
        #expect(await error(tunnel, "hello", to: session)?.name == .tunnelNotRunning)
        await end(tunnel, bench)
    }

    @Test func `a message during a start that never gets so far ends with the start`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save(behave: ["hang in start"])
        let tunnel = Tunnel(configuration, bench.services())
        _ = try await tunnel.start(configuration)
        async let held = outcomes(tunnel, ["hold 1"])
        #expect(await eventually { await tunnel.openMessages == 1 })
        #expect(await eventually { await tunnel.takesCalls == true })
        await end(tunnel, bench)
        #expect(await held == ["TunnelNotRunning"])
    }

    // MARK: Helpers

    private func running() async throws -> (Tunnel, Configuration, Bench) {
        let bench = try Bench()
        let configuration = try await bench.save()
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .connected)
        return (tunnel, configuration, bench)
    }

    private func ask(_ tunnel: Tunnel, _ text: String) async throws -> String? {
        let reply = try await tunnel.send(DataValue(text.utf8), to: nil, within: .seconds(60)).reply
        return reply.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    private func error(
        _ tunnel: Tunnel,
        _ text: String,
        to session: String? = nil,
        within timeout: Interval = .seconds(60)
    ) async -> ControlError? {
        do {
            _ = try await tunnel.send(DataValue(text.utf8), to: session, within: timeout)
            return nil
        } catch {
            return error as? ControlError
        }
    }

    /// What becomes of messages that are sent at once: the answers, or the names of the errors.
    private func outcomes(_ tunnel: Tunnel, _ texts: [String]) async -> [String] {
        await withTaskGroup(of: String.self) { group in
            for text in texts {
                group.addTask {
                    do {
                        return try await ask(tunnel, text) ?? "null"
                    } catch {
                        return (error as? ControlError)?.name.rawValue ?? "\(error)"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// - Parameter bench: its folder goes with it, so it must not go before.
    private func end(_ tunnel: Tunnel, _ bench: Bench) async {
        await tunnel.stop(session: nil)
        await tunnel.idle()
        #expect(bench.leftovers.isEmpty && bench.providerProcesses.isEmpty)
    }
}
