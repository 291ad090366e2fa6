import ControlAPI
import Testing

@Suite struct InterfaceNameTests {
    private static let identifier = "3f2c9a54-7f0e-4c1b-9d6a-0c5e8b7a1d20"

    @Test(arguments: [
        ("home", "home-b4xh6"),
        ("Büro – Köln", "B_ro_K_ln-b4xh6"),
        ("a name of forty characters, and then some", "a_name_of-b4xh6"),
        ("wg0.conf", "wg0.conf-b4xh6"),
        (".", "tun-b4xh6"), ("..", "tun-b4xh6"), ("", "tun-b4xh6"), ("日本", "tun-b4xh6"), ("///", "tun-b4xh6"),
        ("all", "all-b4xh6"), ("default", "default-b4xh6"), ("lo", "lo-b4xh6"),
        ("-rf", "rf-b4xh6"), ("../../etc/passwd", "etc_passw-b4xh6"), ("a b", "a_b-b4xh6"), ("%d%d", "d_d-b4xh6"),
        ("new\nline", "new_line-b4xh6"), ("trailing- ", "trailing-b4xh6"), ("1234567..9", "1234567-b4xh6"),
    ])
    func `a name is derived from what an interface can have of it`(name: String, expected: String) {
        let candidate = InterfaceName.candidate(name: name, identifier: Self.identifier)
        #expect(candidate == expected)
        #expect(InterfaceName.isValid(candidate))
    }

    @Test func `names that share forty characters stay apart`() {
        let name = String(repeating: "x", count: 40)
        let names = (0..<30).map { index in
            let digits = index < 10 ? "0\(index)" : "\(index)"
            let identifier = "00000000-0000-4000-8000-0000000000\(digits)"
            return InterfaceName.candidate(name: "\(name)\(index)", identifier: identifier)
        }
        #expect(Set(names).count == 30)
        #expect(names.allSatisfy(InterfaceName.isValid))
    }

    @Test func `one configuration has the same name again, in either case of its identifier`() {
        let first = InterfaceName.candidate(name: "home", identifier: Self.identifier)
        #expect(InterfaceName.candidate(name: "home", identifier: Self.identifier.uppercased()) == first)
    }

    @Test func `each attempt gives another name`() {
        let names = (0..<100 as Range<UInt32>).map {
            InterfaceName.candidate(name: "home", identifier: Self.identifier, attempt: $0)
        }
        #expect(Set(names).count == 100)
        #expect(names.allSatisfy { $0.hasPrefix("home-") && InterfaceName.isValid($0) })
    }

    @Test func `thousands of identifiers collide as seldom as chance allows`() {
        let names = (10_000..<15_000).map { InterfaceName.candidate(name: "n", identifier: "00000000-\($0)") }
        // 5000 of 2^25 names: 0.4 collisions are to be expected.
        #expect(Set(names).count >= 4998)
    }

    @Test(arguments: ["", ".", "..", "all", "default", "lo", "a/b", "a b", "sixteen-bytes-00", "ü", "a:b", "a%b"])
    func `a name that an interface can't have is refused`(name: String) {
        #expect(!InterfaceName.isValid(name))
    }
}
