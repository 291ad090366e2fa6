import ControlAPI
import NetworkTypes
import Testing

@testable import ControlDaemon

@Suite struct StartGateTests {
    @Test func `calls wait until it opens, and pass from then on`() async throws {
        let gate = StartGate()
        async let first: Void = gate.pass()
        async let second: Void = gate.pass()
        await gate.open()
        try await first
        try await second
        try await gate.pass()
    }

    @Test func `a call that waits long is told that tunneld is starting, and the next one may pass`() async throws {
        let gate = StartGate(patience: .milliseconds(20))
        let error = await #expect(throws: ControlError.self) { try await gate.pass() }
        #expect(error?.name == .unavailable)
        #expect(error?.message == "tunneld is starting.")
        #expect(error?.remedy?.contains("Try again") == true)
        await gate.open()
        try await gate.pass()
    }
}
