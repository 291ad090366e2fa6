import ControlAPI
import Testing

@Suite struct ConfigurationKindTests {
    @Test(
        arguments: [
            ("l2tp", "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard."),
            ("PPTP", "PPTP has been broken for years. Use IKEv2 to the same server, or WireGuard."),
            ("ikev2", "IKEv2 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard."),
            ("L2TP/IPsec", "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard."),
            ("L2TP over IPsec (PSK)", "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard."),
            ("l2-tp", "L2TP is obsolete. Use IKEv2 to the same server, or WireGuard."),
            (" Pptp ", "PPTP has been broken for years. Use IKEv2 to the same server, or WireGuard."),
            ("IKEv2", "IKEv2 isn't there yet. Use WireGuard: `provider` with the identifier org.tunneld.wireguard."),
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

    @Test(
        arguments: [
            (nil, "It is missing."), (7, "It is a number."), (.null, "It is null."), ("", "`` isn't supported."),
            ("YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=", "A text of 44 bytes isn't supported."),
        ] as [(JSONValue?, String)]
    )
    func `what stands in the type's place is told, but nothing of a key`(type: JSONValue?, reason: String) {
        #expect {
            try Configuration.Kind.check(type)
        } throws: {
            ($0 as? ControlError)?.reason == reason
        }
    }

    @Test(
        arguments: [
            (["owner": ["user": 4_294_967_296]], "owner.user", "Expected is a whole number from 0 to 4294967295."),
            (["owner": ["user": -1]], "owner.user", "Expected is a whole number from 0 to 4294967295."),
            (["owner": ["user": .double(1.5)]], "owner.user", "Expected is a whole number from 0 to 4294967295."),
            (["owner": ["user": "root"]], "owner.user", "It has the wrong type; expected is a whole number."),
            (["owner": ["application": "x"]], "owner.user", "It is missing."),
            (["owner": 5], "owner", "It has the wrong type; expected is an object."),
            (
                ["generation": .double(1e300)], "generation",
                "Expected is a whole number from -9223372036854775808 to 9223372036854775807."
            ),
            (["version": "1"], "version", "It has the wrong type; expected is a whole number."),
            (["onDemand": []], "onDemand", "It has the wrong type; expected is an object."),
            (["provider": []], "provider", "It has the wrong type; expected is an object."),
        ] as [(JSONValue, String, String)]
    )
    func `a member that can't be read is told by its name, with what it should hold`(
        member: JSONValue,
        field: String,
        fault: String
    ) throws {
        var members = try #require(member.object)
        members["name"] = "home"
        members["type"] = "provider"
        #expect {
            let _: Configuration = try JSONValue.object(members).decoded()
        } throws: { error in
            let error = error as? DecodingError
            return error?.field == field && error?.fault == fault
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
