import NetworkTypes
import Testing

@Suite struct IPAddressTests {
    @Test(arguments: [
        ("::", "::"), ("::1", "::1"), ("fd00::1", "fd00::1"), ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"), ("1::", "1::"), ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"),
        ("0:0:1::", "0:0:1::"), ("192.0.2.255", "192.0.2.255"), ("0.0.0.0", "0.0.0.0"),
    ])
    func `a good address is read and written in its canonical form`(text: String, canonical: String) {
        #expect(IPAddress(text)?.description == canonical)
    }

    @Test(arguments: [
        "", ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "::g", "1:", ":1",
        "1:2:3:4:5:6:7:8::",
        "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.4 ", "+1.2.3.4", "1..2.3", "fe80::1%eth0", "::1.2.3.4:5",
        "::+1",
    ])
    func `what is no address is refused`(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("10.11.0.2/16", "10.11.0.0/16"), ("0.0.0.0/0", "0.0.0.0/0"), ("192.0.2.1", "192.0.2.1/32"),
        ("fd00::ffff/64", "fd00::/64"), ("fd00::ffff/120", "fd00::ff00/120"), ("::1", "::1/128"),
        ("ffff::/1", "8000::/1"),
    ])
    func `a prefix's network has its host bits cleared`(text: String, network: String) {
        #expect(IPPrefix(text)?.network.description == network)
    }

    @Test(arguments: ["10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/08", "/8", "10.0.0.0/8/8"])
    func `a prefix with a wrong length is refused`(text: String) {
        #expect(IPPrefix(text) == nil)
    }

    @Test func `a prefix contains just the addresses of its own family and network`() throws {
        let prefix = try #require(IPPrefix("10.1.0.0/16"))
        #expect(try prefix.contains(#require(IPAddress("10.1.255.1"))))
        #expect(try !prefix.contains(#require(IPAddress("10.2.0.1"))))
        #expect(try !IPPrefix.allIPv4.contains(#require(IPAddress("::1"))))
    }

    @Test(arguments: ["192.0.2.1:51820", "[fd00::1]:1", "[fe80::1%3]:65535", "0.0.0.0:0"])
    func `an endpoint reads what it writes`(text: String) {
        #expect(Endpoint(text)?.description == text)
    }

    @Test(arguments: [
        "192.0.2.1", "fd00::1:51820", "192.0.2.1:65536", "192.0.2.1:", "[fd00::1]", "host:1", "[fe80::1%eth0]:1",
        "1.2.3.4:+1",
    ])
    func `what is no endpoint is refused`(text: String) {
        #expect(Endpoint(text) == nil)
    }

    @Test func `instants stay at the ends of time instead of overflowing`() {
        #expect(Instant.distantFuture + .seconds(1) == .distantFuture)
        #expect(Instant.zero + .seconds(-1) == .zero)
        #expect(Instant(nanoseconds: 5) - Instant(nanoseconds: 7) == Interval(nanoseconds: -2))
    }
}
