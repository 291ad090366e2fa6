import ControlAPI
import Testing

@Suite struct ControlErrorTests {
    @Test func `as text it is what failed, why and what to do`() {
        #expect("\(ControlError(.timedOut, "It hung."))" == "It hung.")
        let error = ControlError(.timedOut, "It hung.", reason: "Nobody answered.", remedy: "Try again.", field: "x")
        #expect("\(error)" == "It hung. Nobody answered. Try again.")
    }
}
