import ControlAPI
import LinuxSystem
import Testing

@testable import ProviderRuntime

struct SelfCheckTests {
    @Test func `one thread with a capability among good ones is enough to refuse`() throws {
        let good = try #require(ThreadPrivileges(parsing: status()))
        let bad = try #require(ThreadPrivileges(parsing: status(effective: "1000")))
        #expect(SelfCheck.verdict(on: [("10", good), ("11", good)]) == nil)
        let error = try #require(SelfCheck.verdict(on: [("10", good), ("11", bad)]))
        #expect(error.name == .permissionDenied)
        #expect(error.reason == "Of its thread 11: its capability set CapEff is 1000, not empty.")
    }

    private func status(effective: String = "0") -> String {
        """
        Uid:\t61184\t61184\t61184\t61184
        Gid:\t61184\t61184\t61184\t61184
        Groups:\t
        CapInh:\t0
        CapPrm:\t0
        CapEff:\t\(effective)
        CapBnd:\t0
        CapAmb:\t0
        NoNewPrivs:\t1
        """
    }
}
