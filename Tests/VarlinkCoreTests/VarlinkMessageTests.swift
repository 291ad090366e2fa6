import FoundationEssentials
import Testing
@testable import VarlinkCore

@Suite struct `Varlink messages` {
    @Test(arguments: [
        VarlinkCall(method: "org.example.Ping"),
        VarlinkCall(method: "org.example.Ping", parameters: Data("{\"a\":[1,{\"b\":null}]}".utf8), replyMode: .more),
        VarlinkCall(method: "org.example.Ping", replyMode: .none),
        VarlinkCall(method: "org.example.Ping", upgrade: true),
    ])
    func `a call is read as it was written`(call: VarlinkCall) throws {
        #expect(try VarlinkCall(parsing: call.encoded()) == call)
    }

    @Test(arguments: [
        VarlinkReply(.parameters(Data("{\"a\":1}".utf8), continues: false)),
        VarlinkReply(.parameters(Data("{}".utf8), continues: true)),
        VarlinkReply(.error(VarlinkError("org.example.Refused", ["why": "\"quoted\" \\ \n ü"]))),
    ])
    func `a reply is read as it was written`(reply: VarlinkReply) throws {
        #expect(try VarlinkReply(parsing: reply.encoded()) == reply)
    }

    @Test func `absent and null members mean nothing, unknown ones are skipped`() throws {
        let text = "{\"later\":[1],\"parameters\":null,\"more\":null,\"oneway\":false,\"m\\u0065thod\":\"a.b.\\u0043\"}"
        #expect(try VarlinkCall(parsing: Array(text.utf8)) == VarlinkCall(method: "a.b.C"))
    }

    @Test(arguments: [
        ("{}", MessageError.missing(member: "method")), ("{\"method\":null}", .missing(member: "method")),
        ("{\"method\":5}", .wrongType(member: "method", expected: "a string")),
        ("{\"method\":\"\\ud800.A\"}", .wrongType(member: "method", expected: "a string")),
        ("{\"method\":\"a.B\",\"parameters\":[]}", .wrongType(member: "parameters", expected: "an object")),
        ("{\"method\":\"a.B\",\"more\":1}", .wrongType(member: "more", expected: "true or false")),
        (
            "{\"method\":\"a.B\",\"more\":true,\"oneway\":true}",
            .wrongType(member: "oneway", expected: "false where \"more\" is true")
        ),
        ("{\"method\":\"a.B\",\"method\":\"a.C\"}", .duplicate(member: "method")),
        ("{\"method\":\"a.B\",\"parameters\":{},\"p\\u0061rameters\":{}}", .duplicate(member: "parameters")),
        ("{\"method\":\"Ping\"}", .badMethodName), ("{\"method\":\"a.ping\"}", .badMethodName),
        ("{\"method\":\".Ping\"}", .badMethodName), ("{\"method\":\"a.\"}", .badMethodName),
        ("{\"method\":\"a/b.Ping\"}", .badMethodName), ("{\"method\":\"\"}", .badMethodName),
        ("{\"method\":\"\(String(repeating: "a", count: 254)).P\"}", .badMethodName),
    ])
    func `a call that isn't one is refused with its fault`(text: String, fault: MessageError) {
        #expect(throws: fault) { try VarlinkCall(parsing: Array(text.utf8)) }
    }

    @Test(arguments: [
        ("{\"host\":\"a\",\"peers\":[{\"port\":1}]}", nil), ("{\"peers\":[]}", "host"), ("{\"host\":\"a\"}", "peers"),
        ("{\"host\":5,\"peers\":[]}", "host"), ("{\"host\":null,\"peers\":[]}", "host"),
        ("{\"host\":\"a\",\"peers\":{}}", "peers"), ("{\"host\":\"a\",\"peers\":[{\"port\":1},{}]}", "peers[1].port"),
        ("{\"host\":\"a\",\"peers\":[{\"port\":65536}]}", "peers[0].port"),
        ("{\"host\":\"a\",\"peers\":[{\"port\":1.5}]}", "peers[0].port"),
        ("{\"host\":\"\\ud800\",\"peers\":[]}", "host"),
        ("{\"strict\":true,\"mode\":\"fast\",\"host\":\"a\",\"peers\":[{\"port\":-1}]}", "peers[0].port"),
        ("{\"mode\":\"quick\",\"host\":\"a\",\"peers\":[]}", "mode"),
        ("{\"peers\":[{\"port\":1},{\"port\":[]}],\"host\":\"a\"}", "peers[1].port"),
        ("{\"other\":[1e400,-1],\"peers\":[{\"port\":8},{\"p\\u006frt\":-1}],\"host\":\"a\"}", "peers[1].port"),
    ])
    func `a parameter that doesn't fit is named with its path`(text: String, path: String?) throws {
        struct Peer: Decodable { let port: UInt16 }
        struct Parameters: Decodable {
            let host: String
            let peers: [Peer]
            let strict: Bool?
            let mode: Mode?
        }
        enum Mode: String, Decodable { case fast, slow }

        let call = try VarlinkCall(parsing: Array("{\"method\":\"a.B\",\"parameters\":\(text)}".utf8))
        guard let path else {
            #expect(try call.decode(Parameters.self).peers.count == 1)
            return
        }
        #expect(throws: VarlinkError.invalidParameter(path)) { try call.decode(Parameters.self) }
    }

    @Test func `a value that is no object can't be sent`() {
        #expect(throws: EncodingError.self) { try VarlinkReply(5) }
        #expect(throws: EncodingError.self) { try VarlinkReply(["a": Double.nan]) }
        #expect(VarlinkError("org.example.Bad", [1]).parameters == VarlinkJSON.emptyObject)
    }

    @Test func `an error as text is what it says for a person, else its parameters`() {
        #expect("\(VarlinkError.expectedMore)" == "org.varlink.service.ExpectedMore")
        #expect("\(VarlinkError.internalError("It broke."))" == "org.tunneld.InternalError: It broke.")
        let told = VarlinkError("org.example.Bad", ["message": "It broke.", "reason": "ENOSPC", "code": "1"])
        #expect("\(told)" == "org.example.Bad: It broke. ENOSPC")
        #expect("\(VarlinkError.invalidParameter("a"))" == #"org.varlink.service.InvalidParameter {"parameter":"a"}"#)
    }

    @Test func `one call takes one reply`() throws {
        var state = CallState(VarlinkCall(method: "a.B"))
        #expect(throws: CallState.Fault.moreNotRequested) { try state.answer(continues: true) }
        #expect(try state.answer(continues: false))
        #expect(throws: CallState.Fault.alreadyAnswered) { try state.answer(continues: false) }
        #expect(throws: CallState.Fault.alreadyAnswered) { try state.answer(continues: true) }
    }

    @Test func `a call for more takes replies until one ends it`() throws {
        var state = CallState(VarlinkCall(method: "a.B", replyMode: .more))
        for _ in 0..<3 { #expect(try state.answer(continues: true)) }
        #expect(try state.answer(continues: false))
        #expect(throws: CallState.Fault.alreadyAnswered) { try state.answer(continues: true) }
    }

    @Test func `what a one-way call is answered is not sent`() throws {
        var state = CallState(VarlinkCall(method: "a.B", replyMode: .none))
        #expect(try !state.answer(continues: true))
        #expect(try !state.answer(continues: false))
        #expect(throws: CallState.Fault.alreadyAnswered) { try state.answer(continues: false) }
    }
}
