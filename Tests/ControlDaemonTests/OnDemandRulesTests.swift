import ControlAPI
import Testing

@testable import ControlDaemon

@Suite struct OnDemandRulesTests {
    @Test func `every key of Apple's rules is taken`() throws {
        try OnDemandRules.check([
            [
                "action": "evaluateConnection", "interfaceTypeMatch": "wiFi", "ssidMatch": ["Café", "office"],
                "dnsSearchDomainMatch": ["corp.example"], "dnsServerAddressMatch": ["10.0.0.1"],
                "probeURL": "https://intranet.example/probe",
                "connectionRules": [
                    [
                        "matchDomains": ["corp.example"], "action": "connectIfNeeded", "useDNSServers": ["10.0.0.1"],
                        "probeURL": "http://10.0.0.1/",
                    ], ["matchDomains": ["example.org"], "action": "neverConnect"],
                ],
            ], ["action": "connect", "interfaceTypeMatch": "ethernet"], ["action": "disconnect", "ssidMatch": .null],
            ["action": "ignore", "interfaceTypeMatch": "cellular"],
        ])
        try OnDemandRules.check([])
    }

    @Test(
        arguments: [
            ("connect", "onDemand.rules[0]", "It is a string."), (.null, "onDemand.rules[0]", "It is null."),
            ([:], "onDemand.rules[0].action", "It is missing."),
            (["action": 1], "onDemand.rules[0].action", "It is a number."),
            (["action": "Connect"], "onDemand.rules[0].action", "It is `Connect`."),
            (["action": "connect", "ssid": ["x"]], "onDemand.rules[0].ssid", "No such key is known."),
            (
                ["action": "connect", "interfaceTypeMatch": "wifi"], "onDemand.rules[0].interfaceTypeMatch",
                "It is `wifi`."
            ),
            (["action": "connect", "ssidMatch": "x"], "onDemand.rules[0].ssidMatch", "It is a string."),
            (["action": "connect", "ssidMatch": ["x", 2]], "onDemand.rules[0].ssidMatch[1]", "It is a number."),
            (
                ["action": "connect", "dnsServerAddressMatch": [""]], "onDemand.rules[0].dnsServerAddressMatch[0]",
                "It is empty."
            ),
            (
                ["action": "connect", "probeURL": "ftp://x/"], "onDemand.rules[0].probeURL",
                "It is no URL of http or https."
            ),
            (
                ["action": "connect", "connectionRules": []], "onDemand.rules[0].connectionRules",
                "The action is connect, which evaluates no connection."
            ),
            (
                ["action": "evaluateConnection", "connectionRules": [["action": "neverConnect"]]],
                "onDemand.rules[0].connectionRules[0].matchDomains", "No domain is named."
            ),
            (
                ["action": "evaluateConnection", "connectionRules": [["matchDomains": ["a"], "action": "connect"]]],
                "onDemand.rules[0].connectionRules[0].action", "It is `connect`."
            ),
        ] as [(JSONValue, String, String)]
    )
    func `what is no typed rule is refused with its path and what it should hold`(
        rule: JSONValue,
        field: String,
        reason: String
    ) {
        #expect {
            try OnDemandRules.check([rule])
        } throws: { error in
            let error = error as? ControlError
            return error?.name == .configurationInvalid && error?.field == field && error?.reason == reason
                && error?.remedy != nil
        }
    }

    @Test(
        arguments: [
            ["action": "YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="],
            ["action": "connect", "YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=": true],
            ["action": "connect", "interfaceTypeMatch": "YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="],
        ] as [JSONValue]
    )
    func `nothing of a key in a wrong place is shown`(rule: JSONValue) {
        #expect {
            try OnDemandRules.check([rule])
        } throws: { error in
            let text = "\(error) \((error as? ControlError)?.field ?? "")"
            return !text.contains("YAnz5TF+") && text.contains("44 bytes")
        }
    }

    @Test func `the place of a wrong rule among good ones is told, and their number is bounded`() {
        #expect { try OnDemandRules.check([["action": "connect"], "x"]) } throws: {
            ($0 as? ControlError)?.field == "onDemand.rules[1]"
        }
        #expect(throws: ControlError.self) {
            try OnDemandRules.check(Array(repeating: ["action": "connect"], count: 1001))
        }
    }
}
