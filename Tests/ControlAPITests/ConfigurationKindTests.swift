import ControlAPI
import Testing

@Suite struct ConfigurationKindTests {
    @Test(
        arguments: [
            ("l2tp", "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard."),
            ("PPTP", "PPTP has been broken for years. Use IKEv2 to the same server, or WireGuard."),
            ("ikev2", "IKEv2 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard."),
            ("x", "It should hold `provider`."),
        ]
    )
    func `a type that isn't there is refused with what to use`(type: String, remedy: String) {
        #expect {
            try Configuration.Kind.check(.string(type))
        } throws: { error in
            let error = error as? ControlError
            return error?.field == "type" && error?.remedy == remedy
        }
    }

    @Test func `a value of the wrong type is told with what is expected`() {
        let cases: [(JSONValue, field: String, fault: String)] = [
            (["enabled": "x"], "enabled", "It has the wrong type; expected is true or false."),
            (["enabled": 7, "rules": []], "enabled", "It has the wrong type; expected is true or false."),
            (["enabled": true, "rules": "x"], "rules", "It has the wrong type; expected is an array."),
        ]
        for (document, field, fault) in cases {
            #expect {
                let _: Configuration.OnDemand = try document.decoded()
            } throws: { error in
                let error = error as? DecodingError
                return error?.field == field && error?.fault == fault
            }
        }
    }
}
