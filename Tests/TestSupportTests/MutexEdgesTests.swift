import Synchronization
import TestSupport
import Testing

/// Holds `MutexEdges.c` under the thread sanitizer, which without it takes what such a lock protects for a race.
@Suite struct MutexEdgesTests {
    @Test func `a mutex that threads fight for is no race`() async throws {
        let list = Shared()
        await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<20_000 { list.numbers.withLock { $0.append(number) } }
                }
            }
        }
        #expect(list.numbers.withLock { $0.count } == 80_000)
    }

    private final class Shared: Sendable {
        let numbers = Mutex<[Int]>([])
    }
}
