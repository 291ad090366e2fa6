import FoundationEssentials
import Testing
@testable import VarlinkCore

@Suite struct `Interface description` {
    @Test func `types, methods and errors are read`() throws {
        let text = """
            # Comments may stand
            interface org.example.more-names

            type State (idle, busy)
            type Entry (
              name: ?string, # anywhere.
              states: []State,
              times: [string]?float,
              nested: (on: bool, any: object)
            )
            method List(first: int) -> (entries: []Entry)
            method Nothing()->()
            error NotFound (name: string)
            """
        let interface = try InterfaceDescription(parsing: text)
        #expect(interface.name == "org.example.more-names")
        #expect(interface.text == text)
        #expect(interface.types["State"] == .enumeration(["idle", "busy"]))
        #expect(
            interface.types["Entry"]
                == .structure([
                    .init(name: "name", type: .optional(.string)),
                    .init(name: "states", type: .array(.named("State"))),
                    .init(name: "times", type: .dictionary(.optional(.float))),
                    .init(
                        name: "nested",
                        type: .structure([.init(name: "on", type: .bool), .init(name: "any", type: .object)])
                    ),
                ])
        )
        #expect(
            interface.methods == [
                "List": .init(
                    input: [.init(name: "first", type: .int)],
                    output: [.init(name: "entries", type: .array(.named("Entry")))]
                ),
                "Nothing": .init(input: [], output: []),
            ]
        )
        #expect(interface.errors == ["NotFound": [.init(name: "name", type: .string)]])
    }

    @Test(arguments: [
        ("", 1, "the file should begin with \"interface\""), ("interface", 1, "the end of the file stands where"),
        ("interface single", 1, "no name of an interface"), ("interface a..b", 1, "no name of an interface"),
        ("interface a.b\nmethod ping() -> ()", 2, "\"ping\" should begin with a capital"),
        ("interface a.b\nmethod Ping()", 2, "\"->\" is missing"),
        ("interface a.b\nmethod Ping(a) -> ()", 2, "parameters should have types"),
        ("interface a.b\nmethod Ping(a: b) -> ()", 2, "\"b\" is no type"),
        ("interface a.b\nmethod Ping(a: B) -> ()", 2, "the type \"B\" is not declared"),
        ("interface a.b\nerror E (a: int, a: int)", 2, "\"a\" stands there twice"),
        ("interface a.b\ntype T (a, b: int)", 2, "\"a\" has no type"),
        ("interface a.b\ntype T (a: ??int)", 2, "\"??\""),
        ("interface a.b\ntype T (a__b: int)", 2, "no name of a field"),
        ("interface a.b\ntype T (a: int", 2, "\")\" is missing"),
        ("interface a.b\ntype T ()\ntype T ()", 3, "\"T\" is declared twice"),
        ("interface a.b\n\n;", 3, "a character that has no place here"),
        ("interface a.b\nfunction F()", 2, "\"function\" stands where"),
        (
            "interface a.b\ntype T (a: " + String(repeating: "[]", count: 100) + "int)", 2,
            "types are nested too deeply"
        ),
        (
            "interface a.b\ntype T " + String(repeating: "(a: ", count: 100), 2, "types are nested too deeply"
        ),
    ])
    func `a fault is told with its line`(text: String, line: Int, message: String) {
        let error = #expect(throws: InterfaceSyntaxError.self) { try InterfaceDescription(parsing: text) }
        #expect(error?.line == line)
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
    }
}

@Suite struct `Service description` {
    private func service() throws -> ServiceDescription {
        ServiceDescription(
            vendor: "tunneld",
            product: "test",
            version: "1.2",
            url: "",
            interfaces: [
                try InterfaceDescription(parsing: "interface b.b\nmethod Do(a: int) -> ()\n"),
                try InterfaceDescription(parsing: "interface a.a\nmethod Undo() -> ()\n"),
            ]
        )
    }

    private func answer(_ method: String, _ parameters: String = "{}") throws -> String? {
        let call = VarlinkCall(method: method, parameters: Data(parameters.utf8))
        return try service().answer(call).map { String(decoding: $0.encoded(), as: UTF8.self) }
    }

    @Test func `the service says what it is`() throws {
        let expected = """
            {"parameters":{"interfaces":["org.varlink.service","a.a","b.b"],\
            "product":"test","url":"","vendor":"tunneld","version":"1.2"}}
            """
        #expect(try answer("org.varlink.service.GetInfo") == expected)
    }

    @Test func `an interface's text is served as it stands in its file`() throws {
        let reply = try answer("org.varlink.service.GetInterfaceDescription", "{\"interface\":\"a.a\"}")
        #expect(reply == "{\"parameters\":{\"description\":\"interface a.a\\nmethod Undo() -> ()\\n\"}}")
    }

    @Test func `the description of org.varlink.service is served and can be read`() throws {
        let reply = try #require(
            try service().answer(
                VarlinkCall(
                    method: "org.varlink.service.GetInterfaceDescription",
                    parameters: Data("{\"interface\":\"org.varlink.service\"}".utf8)
                )
            )
        )
        guard case .parameters(let parameters, false) = reply.body else {
            Issue.record("\(reply)")
            return
        }
        let text = try #require(try VarlinkJSON.decode([String: String].self, from: parameters)["description"])
        let interface = try InterfaceDescription(parsing: text)
        #expect(Set(interface.methods.keys) == ["GetInfo", "GetInterfaceDescription"])
        #expect(interface.errors.keys.contains("InvalidParameter"))
    }

    @Test(arguments: [
        ("c.c.Do", "{}", VarlinkError.interfaceNotFound("c.c")), ("b.b.Undo", "{}", .methodNotFound("b.b.Undo")),
        ("org.varlink.service.Get", "{}", .methodNotFound("org.varlink.service.Get")),
        ("org.varlink.service.GetInterfaceDescription", "{}", .invalidParameter("interface")),
        ("org.varlink.service.GetInterfaceDescription", "{\"interface\":\"x.y\"}", .interfaceNotFound("x.y")),
        ("org.varlink.service.GetInfo", "{\"x\":1}", .invalidParameter("x")),
        ("b.b.Do", "{\"a\":1,\"A\":1}", .invalidParameter("A")), ("b.b.Do", "{\"\\ud800\":1}", .invalidParameter("")),
    ])
    func `what isn't there is named`(method: String, parameters: String, error: VarlinkError) {
        #expect(throws: error) { try answer(method, parameters) }
    }

    @Test func `a method that is there is left to its handler`() throws {
        #expect(try answer("b.b.Do", "{\"a\":1}") == nil)
    }

    @Test func `a table of methods and the descriptions are compared in both directions`() throws {
        #expect(try service().disagreements(with: ["a.a.Undo", "b.b.Do"]) == [])
        #expect(
            try service().disagreements(with: ["a.a.Undo", "b.b.Redo"]) == [
                "b.b.Do is declared, but nothing answers it", "b.b.Redo is answered, but not declared",
            ]
        )
    }
}
