@testable import CommandLineTool
import ControlAPI
import FoundationEssentials
import NetworkTypes
import Testing

@Suite struct TextTests {
    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (10 << 10, "10 KiB"),
            (1 << 20, "1.0 MiB"), (1 << 40, "1.0 TiB"), (.max, "16 EiB"),
        ] as [(UInt64, String)]
    )
    func `sizes have a unit and at most four digits`(_ count: UInt64, _ text: String) {
        #expect(QuantityText.bytes(count) == text)
    }

    @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] as [(UInt64, String)])
    func `counts are grouped`(_ count: UInt64, _ text: String) {
        #expect(QuantityText.count(count) == text)
    }

    @Test(
        arguments: [
            (-5, "under 1 s"), (999, "under 1 s"), (12_000, "12 s"), (60_000, "1 min"), (200_000, "3 min 20 s"),
            (7_500_000, "2 h 5 min"), (356_400_000, "4 d 3 h"), (.max, "106751991167 d 7 h"),
        ] as [(Int64, String)]
    )
    func `durations have at most two units`(_ milliseconds: Int64, _ text: String) {
        #expect(QuantityText.duration(milliseconds: milliseconds) == text)
    }

    @Test func `an age is told against the time of reading`() {
        let now = Timestamp(milliseconds: 1_000_000)
        #expect(QuantityText.age(nil, at: now) == "never")
        #expect(QuantityText.age(Timestamp(milliseconds: 988_000), at: now) == "12 s ago")
        #expect(QuantityText.age(Timestamp(milliseconds: 2_000_000), at: now) == "just now")
        #expect(QuantityText.age(Timestamp(milliseconds: .min), at: now) == "just now")
    }

    @Test func `a time is told in UTC to the second`() {
        #expect(QuantityText.time(Timestamp(milliseconds: 1_769_903_999_123)) == "2026-01-31 23:59:59 UTC")
    }

    @Test(
        arguments: [
            ("plain é 日本", "plain é 日本"), ("a\u{1B}[2Jb", "a\\u{1B}[2Jb"), ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9B}1m", "\\u{9B}1m"), ("ho\u{200B}me", "ho\\u{200B}me"), ("ho\u{200D}me", "ho\\u{200D}me"),
            ("a\u{200F}b\u{FEFF}", "a\\u{200F}b\\u{FEFF}"), ("a\u{2028}b\u{AD}", "a\\u{2028}b\\u{AD}"),
            ("\u{3164}\u{E0041}", "\\u{3164}\\u{E0041}"), ("می\u{200C}خواهم", "می\u{200C}خواهم"),
            ("👩\u{200D}💻 ❤\u{FE0F}", "👩\u{200D}💻 ❤\u{FE0F}"), ("a\u{FE0F}", "a\\u{FE0F}"),
            ("क\u{94D}\u{200D}", "क\u{94D}\\u{200D}"), ("abc\u{202E}fdp", "abc\\u{202E}fdp"), ("\u{7F}", "\\u{7F}"),
        ]
    )
    func `what could steer a terminal is escaped`(_ text: String, _ shown: String) {
        #expect(text.escapedForTerminal == shown)
    }

    @Test func `JSON has escapes of its own for what could steer a terminal, and means the same`() throws {
        let output = CapturedText()
        let console = Console(output: output, errors: output, json: true, isTerminal: true, colour: false)
        let text = "a\u{1B}\u{9B}\u{202E}\u{E0041}é"
        try console.print(json: [text], streaming: true)
        #expect(output.text == "[\"a\\u001b\\u009b\\u202e\\udb40\\udc41é\"]\n")
        #expect(try JSONDecoder().decode([String].self, from: Data(output.text.utf8)) == [text])
    }

    @Test func `bytes that aren't UTF-8 are named by their numbers`() {
        #expect(FileName.shown(Array("caf".utf8) + [0xe9] + Array("é.conf".utf8)) == "caf\\xE9é.conf")
        #expect(FileName.shown([0xe2, 0x82]) == "\\xE2\\x82")
        #expect(FileName.text([0xff]) == nil && FileName.text(Array("é".utf8)) == "é")
    }

    @Test func `styles become sequences only where colour is wanted, and names never do`() {
        let line: StyledText = "\("a\u{1B}[31mb", .bold): \("up", .good)"
        #expect(line.rendered(colour: false) == "a\\u{1B}[31mb: up")
        #expect(line.rendered(colour: true) == "\u{1B}[1ma\\u{1B}[31mb\u{1B}[0m: \u{1B}[32mup\u{1B}[0m")
    }

    @Test func `a table's columns are as wide as their widest cell`() {
        var table = TextTable(["NAME", "STATUS"])
        table.append(["a-long-name", "up"])
        table.append(["b", StyledText("connected", .good)])
        #expect(
            table.lines.map { $0.rendered(colour: false) } == [
                "NAME         STATUS", "a-long-name  up", "b            connected",
            ]
        )
    }

    @Test func `columns stay in line beside wide and combining characters, and beside one name that is far too long`() {
        let long = String(repeating: "x", count: 60)
        var table = TextTable(["NAME", "STATUS"])
        table.append(["日本", "up"])
        table.append(["e\u{301}te\u{301}", "up"])
        table.append(["👩\u{200D}💻", "up"])
        table.append([StyledText(long), "up"])
        table.append(["ordinary", "up"])
        #expect(
            table.lines.map { $0.rendered(colour: false) } == [
                "NAME      STATUS", "日本      up", "e\u{301}te\u{301}       up", "👩\u{200D}💻        up", "\(long)  up",
                "ordinary  up",
            ]
        )
        #expect("日本".padded(to: 6) == "日本  ")
    }

    @Test(
        arguments: [
            ("stauts", "status"), ("stat", "status"), ("UP", "up"), ("dwon", "down"), ("xyz", nil), ("", nil),
            (String(repeating: "s", count: 100_000), nil),
        ] as [(String, String?)]
    )
    func `the nearest word is found where one is near`(_ typed: String, _ found: String?) {
        #expect(NearestName.find(typed, among: ["up", "down", "status"]) == found)
    }
}
