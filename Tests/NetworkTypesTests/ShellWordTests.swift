import NetworkTypes
import Testing

@Suite struct ShellWordTests {
    @Test(
        arguments: [
            ("home", "home"), ("my-home_2.conf", "my-home_2.conf"), ("a@b:/c,+%", "a@b:/c,+%"), ("", "''"),
            ("my home", "'my home'"), ("it's", #"'it'\''s'"#), ("'", #"''\'''"#), ("$(reboot)", "'$(reboot)'"),
            ("a;b|c&d", "'a;b|c&d'"), ("`x`", "'`x`'"), ("Büro", "'Büro'"), ("~root", "'~root'"), ("a~", "a~"),
            ("peers[0].endpoint=a:1", "'peers[0].endpoint=a:1'"), ("a\nb", "'a\nb'"), ("#1", "'#1'"), ("!!", "'!!'"),
        ]
    )
    func `what a shell would take for something else stands in quotes`(_ text: String, _ word: String) {
        #expect(text.shellQuoted == word)
    }

    @Test func `a path is no option either`() {
        #expect("-x y.conf".shellQuotedPath == "'./-x y.conf'")
        #expect("/etc/wireguard/home.conf".shellQuotedPath == "/etc/wireguard/home.conf")
    }
}
