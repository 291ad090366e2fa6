import ControlAPI
import LinuxSystem
import Testing

@testable import ControlDaemon

@Suite struct DisclosureTests {
    private let folder = TemporaryFolder()

    private var stored: Configuration {
        Configuration(
            name: "home",
            owner: Configuration.Owner(user: 0),
            provider: Configuration.Provider(
                identifier: "org.example.a",
                configuration: ["hooks": [["command": "key"]], "peers": []]
            )
        )
    }

    private func disclosure(to user: UInt32) async throws -> Disclosure {
        let document =
            #"{"identifier":"org.example.a","executable":"/bin/true","name":"A","protocol":1,"secretKeys":[],"ownerKeys":["hooks"]}"#
        try AtomicFile.write(Array(document.utf8), to: folder.path + "/a.json", mode: 0o644)
        let caller = Caller(user: user, isInGroup: false, process: 1)
        return await Disclosure(to: caller, ProviderCatalogue(folders: [folder.path], programs: nil))
    }

    @Test func `what is the owner's alone is shown to the owner and root`() async throws {
        var own = stored
        own.owner.user = 7
        #expect(try await disclosure(to: 7).shown(own) == own)
        #expect(try await disclosure(to: 0).shown(own) == own)
        #expect(try await disclosure(to: 0).shown(stored) == stored)
    }

    @Test func `others are shown the rest, and of an unknown provider nothing`() async throws {
        let shown = try await disclosure(to: 7).shown(stored)
        #expect(shown.provider?.configuration == ["peers": []])
        #expect(shown.name == "home" && shown.owner == stored.owner)
        var other = stored
        other.provider?.identifier = "org.example.gone"
        #expect(try await disclosure(to: 7).shown(other).provider?.configuration == [:])
    }

    @Test func `what somebody wasn't shown isn't lost by what they save`() async throws {
        let disclosure = try await disclosure(to: 7)
        var changed = disclosure.shown(stored)
        changed.provider?.configuration["peers"] = ["x"]
        let completed = disclosure.completed(changed, from: stored)
        #expect(completed.provider?.configuration == ["hooks": [["command": "key"]], "peers": ["x"]])
        // What they write themselves counts.
        changed.provider?.configuration["hooks"] = []
        #expect(disclosure.completed(changed, from: stored).provider?.configuration["hooks"] == [])
        #expect(disclosure.completed(changed, from: nil) == changed)
    }
}
