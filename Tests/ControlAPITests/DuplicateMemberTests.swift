import ControlAPI
import Testing

@Suite struct DuplicateMemberTests {
    @Test(
        arguments: [
            (#"{"a": 1, "b": 2, "a": 3}"#, "a"), (#"{"x": {"a": 1}, "y": [{"b": {"c": 1}, "b": 2}]}"#, "b"),
            (#"{"a": ["a", "a"], "a": 1}"#, "a"), (#"{"a\"": 1, "c": "}{,", "a\"": 2}"#, #"a\""#),
            (
                #"{"YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=": 1, "YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=": 2}"#,
                "a member with a name of 44 bytes"
            ),
        ]
    )
    func `a member that stands twice in an object is found`(json: String, name: String) {
        #expect(DuplicateMember.find(in: Array(json.utf8)) == name)
    }

    @Test(
        arguments: [
            "{}", "[]", "1", #""a""#, #"{"a": "a", "b": "a"}"#, #"{"a": {"a": {"a": 1}}}"#,
            #"["a", "a", {"a": 1}, {"a": 1}]"#,
            #"{"a": "b,\"a\": ", "c": "\\"}"#,
            // No JSON, and no reason to end.
            #"{"a": "x"#, "}]}", #"{"a\"#,
        ]
    )
    func `the same word in other places is none`(json: String) {
        #expect(DuplicateMember.find(in: Array(json.utf8)) == nil)
    }
}
