import FoundationEssentials
import Testing
@testable import VarlinkCore

@Suite struct `JSON scanner` {
    @Test(arguments: [
        "{}", " { } ", "{\"a\":1}", "{\"a\":null,\"b\":true,\"c\":false}", "{\"a\":[]}", "{\"a\":[1,2,[3],{}]}",
        "{\"a\":{\"b\":{\"c\":[{\"d\":\"\"}]}}}", "{\"a\":-0}", "{\"a\":-1.5e+10}", "{\"a\":0.1E-2}",
        "{\"\\u0061\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fc\"}", "\n{\t\"a\"\r:\n1 , \"b\" : [ 1 , 2 ] }\n",
        "{\"ü😀\":\"ü😀\"}",
    ])
    func `JSON is taken, and a decoder agrees`(text: String) throws {
        var scanner = try JSONScanner(Array(text.utf8))
        let members = try scanner.members()
        let decoded = try JSONDecoder().decode([String: Anything].self, from: Data(text.utf8))
        #expect(members.count == decoded.count)
    }

    @Test(arguments: [
        ("", 0, "an object"), ("[]", 0, "an object"), ("null", 0, "an object"), ("{", 1, "a key in quotes"),
        ("{}x", 2, "the end of the message"), ("{} {}", 3, "the end of the message"),
        ("{a:1}", 1, "a key in quotes"), ("{\"a\"}", 4, "a colon"), ("{\"a\":}", 5, "a value"),
        ("{\"a\":1,}", 7, "a key in quotes"), ("{\"a\":[1,]}", 8, "a value"),
        ("{\"a\":[1 2]}", 8, "a comma or the end of the array"),
        ("{\"a\":1 \"b\":2}", 7, "a comma or the end of the object"),
        ("{\"a\":{\"b\":1]}", 11, "a comma or the end of the object"),
        ("{\"a\":tru}", 5, "a value"), ("{\"a\":NaN}", 5, "a value"), ("{\"a\":+1}", 5, "a value"),
        ("{\"a\":-}", 6, "a digit"), ("{\"a\":1.}", 7, "a digit"), ("{\"a\":1e}", 7, "a digit"),
        ("{\"a\":01}", 6, "a comma or the end of the object"), ("{\"a\":.5}", 5, "a value"),
        ("{\"a\":\"b", 7, "a closing quote"), ("{\"a\":\"\\", 7, "an escape"), ("{\"a\":\"\\x\"}", 7, "an escape"),
        ("{\"a\":\"\\u00g0\"}", 10, "a hexadecimal digit"), ("{\"a\":\"\\u1\"}", 9, "a hexadecimal digit"),
        ("{\"a\":\"\n\"}", 6, "an escaped control character"), ("{\"a\":1", 6, "a comma or the end of the object"),
        ("{\"a\":[", 6, "a value"), ("\u{FEFF}{}", 0, "an object"),
    ])
    func `what isn't JSON is refused with the place and what is missing`(text: String, at: Int, expected: String) {
        let error = #expect(throws: MessageError.self) {
            var scanner = try JSONScanner(Array(text.utf8))
            _ = try scanner.members()
        }
        #expect(error?.description == "The message isn't JSON: at byte \(at) there should be \(expected).")
    }

    @Test(
        arguments: [
            ([0x7B, 0xFF, 0x7D], 1), ([0xC0, 0x80], 0), ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),
            ([0x61, 0xF4, 0x90, 0x80, 0x80], 1),
            ([0x61, 0xE2, 0x82], 1),
        ] as [([UInt8], Int)]
    )
    func `what isn't UTF-8 is refused with the place`(bytes: [UInt8], at: Int) {
        #expect(throws: MessageError.notUTF8(at: at)) { try JSONScanner(bytes) }
    }

    @Test func `nesting is taken to the limit and no deeper`() throws {
        func nested(_ levels: Int) -> [UInt8] {
            Array(
                ("{\"a\":" + String(repeating: "[", count: levels - 1) + String(repeating: "]", count: levels - 1) + "}")
                    .utf8
            )
        }
        var scanner = try JSONScanner(nested(JSONScanner.depthLimit))
        _ = try scanner.members()
        var deeper = try JSONScanner(nested(JSONScanner.depthLimit + 1))
        #expect(throws: MessageError.tooDeep(limit: 64, at: 68)) { try deeper.members() }
    }

    @Test func `values are taken to the limit and no more`() throws {
        func array(_ values: Int) -> [UInt8] {
            Array(("{\"a\":[" + String(repeating: "0,", count: values - 2) + "0]}").utf8)
        }
        var scanner = try JSONScanner(array(JSONScanner.valueLimit))
        _ = try scanner.members()
        var longer = try JSONScanner(array(JSONScanner.valueLimit + 1))
        #expect(throws: MessageError.tooManyValues(limit: 100_000)) { try longer.members() }
    }

    /// Any JSON value.
    private struct Anything: Decodable {
        init(from decoder: any Decoder) throws {}
    }
}
