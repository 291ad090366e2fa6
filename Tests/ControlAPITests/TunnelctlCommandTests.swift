import ControlAPI
import Testing

@Suite struct TunnelctlCommandTests {
    @Test func `a command can be pasted, whatever the name is`() {
        #expect(TunnelctlCommand.text("up", "home") == "tunnelctl up home")
        #expect(TunnelctlCommand.text("up", "my home; reboot") == "tunnelctl up 'my home; reboot'")
        #expect(
            TunnelctlCommand.text("export", "it's", options: ["--with-secrets"])
                == #"tunnelctl export 'it'\''s' --with-secrets"#
        )
        // It is no option.
        #expect(TunnelctlCommand.text("show", "-x", options: ["--json"]) == "tunnelctl show --json -- -x")
    }
}
