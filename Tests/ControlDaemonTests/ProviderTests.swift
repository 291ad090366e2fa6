import ControlAPI
import Glibc
import LinuxSystem
import Testing

@testable import ControlDaemon

@Suite struct ProviderUserTests {
    @Test func `a tunnel has the same user again, two tunnels have two`() {
        let first = ProviderUser.free(for: "a", taken: [])
        #expect(first == ProviderUser.free(for: "a", taken: []))
        #expect(first != ProviderUser.free(for: "b", taken: []))
        #expect(first.map(ProviderUser.range.contains) == true)
    }

    @Test func `a user that some process has is passed over, also at the end of the range`() throws {
        let first = try #require(ProviderUser.free(for: "a", taken: []))
        let second = try #require(ProviderUser.free(for: "a", taken: [first]))
        #expect(second == (first == ProviderUser.range.upperBound ? ProviderUser.range.lowerBound : first + 1))
        let all = Set(ProviderUser.range)
        #expect(ProviderUser.free(for: "a", taken: all) == nil)
        #expect(
            ProviderUser.free(for: "a", taken: all.subtracting([ProviderUser.range.lowerBound]))
                == ProviderUser.range.lowerBound
        )
    }

    @Test func `users of processes are read from the kernel`() {
        #expect(ProviderUser.usersOfProcesses().contains(0))
    }

    @Test func `a user namespace without the range is told, with what to do`() {
        let error = SpawnFailure.error("/x", SpawnError(.user, EINVAL))
        #expect(error.name == .providerFailed)
        #expect(error.reason == "/x: setresuid: Invalid argument (EINVAL).")
        #expect(error.remedy?.contains("user namespace") == true && error.remedy?.contains("2000000000") == true)
        #expect(SpawnFailure.remedy(for: SpawnError(.groups, EPERM))?.contains("let it set groups") == true)
        #expect(SpawnFailure.remedy(for: SpawnError(.capabilities, EPERM))?.contains("CAP_SETPCAP") == true)
    }
}

@Suite struct ProviderCatalogueTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func `a program beside tunneld describes itself`() async throws {
        let descriptor = try await bench.catalogue.descriptor("org.tunneld.fake")
        #expect(descriptor.executable == bench.temporary.path + "/programs/tunnel-provider-fake")
        #expect(descriptor.secretKeys == ["keyReference"])
    }

    @Test func `an unknown provider is named with those that are installed`() async {
        do {
            _ = try await bench.catalogue.descriptor("org.example.none")
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.name == .providerUnknown && error.field == "provider.identifier")
            #expect(error.message == "There is no provider org.example.none.")
            let programs = bench.temporary.path + "/programs"
            let reason = "Installed are: org.tunneld.fake. Looked for: programs tunnel-provider-* in \(programs)."
            #expect(error.reason == reason)
        }
    }

    @Test func `a provider of ours is missed by the name of its program`() async {
        let catalogue = ProviderCatalogue(folders: ["/nowhere"], programs: bench.temporary.path)
        do {
            _ = try await catalogue.descriptor("org.tunneld.wireguard")
            Issue.record("nothing was thrown")
        } catch {
            let places = "descriptors in /nowhere, programs tunnel-provider-* in \(bench.temporary.path)"
            #expect(error.reason == "None is installed. Looked for: \(places).")
            #expect(error.remedy?.hasPrefix("Install the provider, the program tunnel-provider-wireguard, or ") == true)
        }
    }

    @Test func `a descriptor file counts only when it is root's alone, and before a program`() async throws {
        let folder = bench.temporary.path + "/descriptors"
        try makeFolder(folder, mode: 0o755)
        let catalogue = ProviderCatalogue(folders: [folder], programs: bench.temporary.path + "/programs")
        let text =
            #"{"identifier": "org.tunneld.fake", "executable": "/x", "name": "X", "protocol": 1, "secretKeys": []}"#
        let path = folder + "/fake.json"
        try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644)
        #expect(await catalogue.installed().map(\.name) == ["X"])
        _ = unsafe chmod(path, 0o666)
        #expect(await catalogue.installed().map(\.name) == ["Fake"])
        _ = unsafe chmod(path, 0o644)
        _ = unsafe chown(path, 1, 1)
        #expect(await catalogue.installed().map(\.name) == ["Fake"])
    }

    @Test func `a program that others may write, or that says nothing of use, is passed over`() async throws {
        let programs = bench.temporary.path + "/programs"
        for (name, text) in [("tunnel-provider-a", "#!/bin/sh\nexit 1"), ("tunnel-provider-b", "#!/bin/sh\necho {}")] {
            try AtomicFile.write(Array(text.utf8), to: "\(programs)/\(name)", mode: 0o755)
            _ = unsafe chmod("\(programs)/\(name)", 0o755)
        }
        #expect(await bench.catalogue.installed().map(\.identifier) == ["org.tunneld.fake"])
        let unusable = await bench.catalogue.unusable
        #expect(unusable.count == 2)
        #expect(
            unusable[0].hasSuffix(
                "tunnel-provider-a can't be used: It exited with status 1. Install the provider again."
            )
        )
        #expect(
            unusable[1].hasSuffix("tunnel-provider-b can't be used: what it printed isn't a provider's descriptor.")
        )
        _ = unsafe chmod("\(programs)/tunnel-provider-fake", 0o777)
        #expect(await bench.catalogue.installed().isEmpty)
    }

    @Test func `another version of the protocol is refused by name`() async throws {
        let folder = bench.temporary.path + "/descriptors"
        try makeFolder(folder, mode: 0o755)
        let text = #"{"identifier": "new", "executable": "/x", "name": "X", "protocol": 9, "secretKeys": []}"#
        try AtomicFile.write(Array(text.utf8), to: folder + "/new.json", mode: 0o644)
        let catalogue = ProviderCatalogue(folders: [folder], programs: nil)
        await expect(throws: Named(.versionMismatch)) { try await catalogue.descriptor("new") }
    }

    @Test func `a provider's faults of a configuration are all told, with their fields`() async throws {
        let descriptor = try await bench.catalogue.descriptor("org.tunneld.fake")
        #expect(try await bench.catalogue.validate(["behave": []], by: descriptor).isEmpty)
        do {
            _ = try await bench.catalogue.validate(["b": 1, "a": 2], by: descriptor)
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.name == .configurationInvalid && error.field == "provider.configuration.a")
            #expect(
                error.reason == "provider.configuration.a: It is not known.\nprovider.configuration.b: It is not known."
            )
        }
    }

    @Test(
        arguments: [
            ("exit 3", "It exited with status 3."), ("kill -9 $$", "It was ended by signal 9 (Killed)."),
            ("yes", "It printed over 1048576 bytes."),
        ]
    )
    func `a program that doesn't answer as it should is told and ended`(body: String, reason: String) async throws {
        let program = bench.temporary.path + "/program"
        try AtomicFile.write(Array("#!/bin/sh\n\(body)\n".utf8), to: program, mode: 0o755)
        _ = unsafe chmod(program, 0o755)
        do {
            _ = try await ProviderProgram.output(of: program, "--describe")
            Issue.record("nothing was thrown")
        } catch {
            #expect(error.name == .providerFailed && error.reason == reason)
        }
    }
}
