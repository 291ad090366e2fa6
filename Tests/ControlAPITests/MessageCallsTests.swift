import ControlAPI
import FoundationEssentials
import Testing

@Suite struct MessageCallsTests {
    @Test func `bytes travel as base64 under one key`() throws {
        let value = DataValue([0, 255])
        let text = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
        #expect(text == #"{"$data":"AP8="}"#)
        #expect(try JSONDecoder().decode(DataValue.self, from: Data(text.utf8)) == value)
    }

    @Test(arguments: [#"{"$data":"no base64!"}"#, #"{"data":""}"#, #""text""#, #"{"$data":7}"#])
    func `what isn't that is refused`(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(DataValue.self, from: Data(text.utf8)) }
    }

    @Test func `an error of a domain that isn't ours is a provider's own`() throws {
        let own = #"{"domain":"com.example.vpn","code":4,"message":"No."}"#
        let error = try JSONDecoder().decode(ControlError.self, from: Data(own.utf8))
        #expect(error.name == .providerFailed && error.code == 105 && error.domain == "org.tunneld")
        #expect(error.underlying == ProviderError(domain: "com.example.vpn", code: 4, message: "No."))
        let again = try JSONDecoder().decode(ControlError.self, from: JSONEncoder().encode(error))
        #expect(again == error)
    }

    @Test func `an error of ours that isn't known is none of a provider's`() throws {
        let newer = #"{"name":"Newer","domain":"org.tunneld","code":999,"message":"No."}"#
        let error = try JSONDecoder().decode(ControlError.self, from: Data(newer.utf8))
        #expect(error.name == .internalError && error.underlying == nil)
    }

    @Test func `a provider's words are kept up to a limit`() {
        let error = ProviderError(
            domain: String(repeating: "d", count: 1000),
            code: 1,
            message: String(repeating: "m", count: 10_000)
        )
        #expect(error.domain.count == ProviderError.domainLimit && error.message.count == ProviderError.messageLimit)
    }
}
