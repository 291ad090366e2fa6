import EventLoop
import LinuxSystem
import NetworkTypes
import Testing

@Suite struct PauseTests {
    @Test func `a pause lasts as long as it was told`() async throws {
        let start = Instant.now()
        try await Pause.sleep(for: .milliseconds(30))
        #expect(Instant.now() - start >= .milliseconds(30))
        try await Pause.sleep(for: .zero)
    }

    @Test func `a cancelled pause ends at once, also one that was cancelled before it began`() async {
        let pause = Task { try await Pause.sleep(for: .seconds(3600)) }
        pause.cancel()
        await #expect(throws: CancellationError.self) { try await pause.value }
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            try await Pause.sleep(for: .seconds(3600))
        }
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
    }
}
