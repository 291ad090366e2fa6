import ControlAPI
import Testing

@Suite struct ControlErrorTests {
    @Test func `as text it is what failed, why and what to do`() {
        #expect("\(ControlError(.timedOut, "It hung."))" == "It hung.")
        let error = ControlError(.timedOut, "It hung.", reason: "Nobody answered.", remedy: "Try again.", field: "x")
        #expect("\(error)" == "It hung. Nobody answered. Try again.")
    }

    @Test func `a sentence begins with a capital letter and ends once`() {
        for (text, sentence) in [
            ("the disk is full", "The disk is full."), ("It is.", "It is."), ("really?", "Really?"),
            ("`x` is", "`x` is."),
            ("write `x`", "Write `x`."), ("", ""),
        ] {
            #expect(ControlError.sentence(text) == sentence)
        }
    }
}
