import ControlAPI
import HostNetwork
import Testing

@testable import ControlDaemon

@Suite struct RepairTests {
    @Test func `what a session left is taken back, and stays known for as long as it can't be`() async throws {
        let bench = try Bench()
        let configuration = try await bench.save()
        let services = bench.services()
        var record = SessionRecord(session: "old", configuration: configuration, nonce: "n", now: .now())
        record.network.interface = InterfaceIdentity(index: 7, name: "left-1")
        try services.journal.write(record)
        let path = services.journal.path(configuration.identifier)
        let tunnels = Tunnels(services)

        bench.network.fail("revert")
        let failed = await tunnels.repair()
        #expect(failed.removed.isEmpty && failed.failed == ["The fake network can't revert."])
        #expect(try services.journal.records().records.count == 1)

        bench.network.fail(nil)
        let repaired = await tunnels.repair()
        #expect(repaired.removed == ["interface left-1", "session journal \(path)"] && repaired.failed.isEmpty)
        #expect(try services.journal.records().records.isEmpty)
    }

    @Test func `a block that a failure left is lifted, and one that is to stand at any time isn't`() async throws {
        let bench = try Bench()
        for (name, isPersistent) in [("left", false), ("lasting", true)] {
            var configuration = try await bench.save(name)
            configuration.includeAllNetworks = true
            configuration.persistentBlock = isPersistent
            configuration = try await bench.replace(configuration)
            try await bench.block.set(configuration.identifier, to: BlockPolicy.bare(configuration))
        }
        let repaired = await Tunnels(bench.services()).repair()
        #expect(repaired == NetworkCalls.RepairReply(removed: ["the block for left"], failed: []))
        #expect(bench.block.members.values.map(\.name) == ["lasting"])
    }
}
