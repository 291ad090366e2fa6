import ControlAPI
import LinuxSystem
import TestSupport
import Testing

@testable import ControlDaemon

/// Why the last session ended, told to whoever asks later.
@Suite(.timeLimit(.minutes(2))) struct LastErrorTests {
    private let own = ProviderError(domain: "com.example.vpn", code: 42, message: "The server refused the account.")

    @Test func `a provider's own error is told in both terms`() async throws {
        let (_, view) = try await failed(["own error in start"])
        let error = try #require(view.lastDisconnectError)
        #expect(error.name == .providerFailed && error.domain == "org.tunneld" && error.code == 105)
        #expect(error.message == own.message && error.underlying == own)
    }

    @Test(arguments: ["own error when applied", "own error when ready"])
    func `a provider that ends by itself with an error of its own is told by that`(behaviour: String) async throws {
        let (_, view) = try await failed([behaviour])
        let error = try #require(view.lastDisconnectError)
        // The first may also be noticed only once the tunnel is ready, and then it is tried again.
        if behaviour == "own error when ready" {
            #expect(error.message == "The tunnel broke 5 times within 60 seconds, and is given up.")
        }
        #expect(error.name == .providerFailed)
        #expect(
            error.underlying == ProviderError(domain: "com.example.vpn", code: 42, message: "The quota is used up.")
        )
    }

    @Test func `the error outlives tunneld, with its time, until a session ends without one`() async throws {
        let (bench, before) = try await failed(["own error in start"])
        let configuration = try #require(await bench.store.configurations().first)
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let tunnel = try #require(await tunnels.existing(configuration.identifier))
        let after = await tunnel.view(of: configuration)
        #expect(after.status == .disconnected && after.session == nil)
        #expect(after.lastDisconnectError == before.lastDisconnectError)
        #expect(after.since == before.since)
        #expect(bench.hub.subscribe { _, _ in true }.start.present[configuration.identifier]?.error?.underlying == own)

        var mended = configuration
        mended.provider?.configuration = ["keyReference": configuration.provider?.configuration["keyReference"] ?? ""]
        mended = try await bench.replace(mended)
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(mended)
        _ = try await witness.statuses(until: .connected)
        #expect(await tunnel.view(of: mended).lastDisconnectError == nil)
        await tunnel.stop(session: nil)
        await tunnel.idle()
        #expect(LastErrorStore(folder: bench.directories.lastErrors).all().isEmpty)
    }

    @Test func `one of a session before the one that tunneld took over doesn't come back`() async throws {
        let (bench, _) = try await failed(["own error in start"])
        var configuration = try #require(await bench.store.configurations().first)
        let key = configuration.provider?.configuration["keyReference"] ?? ""
        configuration.provider?.configuration = ["keyReference": key]
        configuration = try await bench.replace(configuration)
        let witness = Witness(bench.hub)
        let first = Tunnel(configuration, bench.services())
        _ = try await first.start(configuration)
        _ = try await witness.statuses(until: .connected)
        await first.abandon()
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        let tunnel = try #require(await tunnels.existing(configuration.identifier))
        await tunnel.stop(session: nil)
        await tunnel.idle()
        #expect(LastErrorStore(folder: bench.directories.lastErrors).all().isEmpty)
    }

    @Test func `a record that can't be used is set aside, told, and costs nothing else`() async throws {
        let (bench, _) = try await failed(["own error in start"])
        let configuration = try #require(await bench.store.configurations().first)
        let (errors, stamps) = (bench.directories.lastErrors, bench.directories.timestamps)
        for (path, text) in [
            ("\(errors)/broken.json", "{"), ("\(errors)/later.json", #"{"version":2}"#), ("\(stamps)/short", "40"),
            ("\(stamps)/long", String(repeating: "x", count: 5000)),
            ("\(stamps)/\(configuration.identifier)", "400000006955b9000a0b0c0d"),
        ] {
            try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600)
        }
        try makeFolder("\(stamps)/folder", mode: 0o700)
        let contents = try StoreContents.load(bench.directories, bench.keychain)
        let told = contents.incidents.filter { $0.contains("was set aside as") }
        #expect(told.count == 5 && told.allSatisfy { $0.hasPrefix("The file \(bench.directories.state)/") }, "\(told)")
        let aside = try FileSystem.names(inFolder: bench.directories.damaged)
        for name in ["last-error-broken", "last-error-later", "timestamp-short", "timestamp-long", "timestamp-folder"] {
            #expect(aside.contains { $0.hasPrefix("\(name).") }, "\(aside)")
        }
        #expect(contents.configurations.count == 1)
        #expect(TimestampStore(folder: stamps).timestamp(of: configuration.identifier) == "400000006955b9000a0b0c0d")
        #expect(Array(LastErrorStore(folder: errors).all().keys) == [configuration.identifier])
        #expect(try StoreContents.load(bench.directories, bench.keychain).incidents.isEmpty)
    }

    @Test func `an error goes with its configuration`() async throws {
        let (bench, _) = try await failed(["own error in start"])
        let configuration = try #require(await bench.store.configurations().first)
        let store = LastErrorStore(folder: bench.directories.lastErrors)
        let stranger = LastErrorStore.Record(error: ControlError(.timedOut, "x"), time: .now())
        try store.keep(stranger, of: "stranger")
        let tunnels = Tunnels(bench.services(epoch: 2))
        try await tunnels.resumeAll()
        #expect(Set(store.all().keys) == [configuration.identifier])
        #expect(try FileSystem.names(inFolder: store.folder) == [configuration.identifier + ".json"])
        await tunnels.forget(configuration.identifier)
        #expect(store.all().isEmpty)
    }

    private func failed(_ behaviour: [String]) async throws -> (Bench, SessionView) {
        let bench = try Bench()
        let configuration = try await bench.save(behave: behaviour)
        let tunnel = Tunnel(configuration, bench.services())
        let witness = Witness(bench.hub)
        _ = try await tunnel.start(configuration)
        _ = try await witness.statuses(until: .disconnected)
        await tunnel.idle()
        return (bench, await tunnel.view(of: configuration))
    }
}
