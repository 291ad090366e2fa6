import ProviderRuntime
import Testing

struct ProviderCommandTests {
    @Test func `the arguments are read`() {
        #expect(ProviderCommand(["--describe"]) == .describe)
        #expect(ProviderCommand(["--validate"]) == .validate)
        #expect(ProviderCommand(["--self-check"]) == .selfCheck)
        #expect(ProviderCommand(["--directory", "/run/x"]) == .run(directory: "/run/x"))
    }

    @Test(arguments: [
        [], ["--directory"], ["--directory", ""], ["--describe", "x"], ["describe"],
        ["--directory", "a", "--describe"],
    ])
    func `anything else makes no command`(arguments: [String]) {
        #expect(ProviderCommand(arguments) == nil)
    }
}
