import CommandLineTool
import ControlAPI
import Testing

@Suite struct NameMatchTests {
    private let candidates = [
        NameMatch.Candidate(
            identifier: "aaaa1111-0000-4000-8000-000000000001",
            name: "home",
            isOwn: false,
            owner: "user 7"
        ),
        NameMatch.Candidate(
            identifier: "aaaa2222-0000-4000-8000-000000000002",
            name: "home-office",
            isOwn: false,
            owner: "user 7"
        ),
        NameMatch.Candidate(
            identifier: "bbbb3333-0000-4000-8000-000000000003",
            name: "work",
            isOwn: false,
            owner: "user 7"
        ),
        NameMatch.Candidate(
            identifier: "cccc4444-0000-4000-8000-000000000004",
            name: "twin",
            isOwn: false,
            owner: "user 7"
        ),
        NameMatch.Candidate(
            identifier: "dddd5555-0000-4000-8000-000000000005",
            name: "twin",
            isOwn: false,
            owner: "user 7"
        ),
    ]

    @Test(
        arguments: [
            ("home", "home"), ("home-", "home-office"), ("w", "work"), ("bbbb", "work"), ("BBBB3", "work"),
            ("aaaa2222-0000-4000-8000-000000000002", "home-office"),
        ]
    )
    func `a name, an identifier or the beginning of only one is found`(_ text: String, _ name: String) throws {
        #expect(try NameMatch.find(text, among: candidates, prefixes: true).name == name)
    }

    @Test(arguments: ["hom", "aaaa", "twin"])
    func `what fits several is wrong usage that lists them`(_ text: String) throws {
        let error = try #require(throws: UsageError.self) {
            try NameMatch.find(text, among: candidates, prefixes: true)
        }
        #expect(error.message.hasPrefix("\"\(text)\" fits 2 configurations: "))
        #expect(error.message.contains("-0000-4000-8000-"))
        #expect(error.message.contains(" of user 7 ("))
        #expect(error.hint?.hasPrefix("Give the identifier of the one that you mean in place of the name: ") == true)
    }

    @Test func `a prefix isn't taken where only whole names are, and the name is told`() throws {
        let error = try #require(throws: ControlError.self) {
            try NameMatch.find("wor", among: candidates, prefixes: false)
        }
        #expect(error.name == .configurationUnknown)
        #expect(error.remedy == "Did you mean work? This command takes whole names only, never a prefix.")
        #expect(try NameMatch.find("work", among: candidates, prefixes: false).name == "work")
    }

    @Test func `an unknown name is told with the nearest one`() throws {
        let error = try #require(throws: ControlError.self) {
            try NameMatch.find("hmoe", among: candidates, prefixes: true)
        }
        #expect(error.message == "There is no configuration \"hmoe\".")
        #expect(error.remedy == "Did you mean home?")
        #expect(ExitCode(error) == .noSuchConfiguration)
    }

    @Test func `of several with a name one's own is meant`() throws {
        let mine = NameMatch.Candidate(
            identifier: "eeee6666-0000-4000-8000-000000000006",
            name: "twin",
            isOwn: true,
            owner: "root"
        )
        #expect(try NameMatch.find("twin", among: candidates + [mine], prefixes: true) == mine)
    }

    @Test func `an empty name fits nothing`() {
        #expect(throws: ControlError.self) { try NameMatch.find("", among: candidates, prefixes: true) }
    }
}
