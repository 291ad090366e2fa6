import Testing

@testable import HostNetwork

@Suite struct SystemControlsTests {
    /// Documentation/networking/ip-sysctl.rst: the higher of the values for all and for the link; 1 is strict, 2 loose.
    @Test(
        arguments: [
            ("0", "0", "0", false), ("1", "0", "0", true), ("0", "1", "0", true), ("2", "1", "0", false),
            ("1", "2", "0", false), ("0", "0", "1", false), ("0", "2", "1", false),
        ] as [(String, String, String, Bool)]
    )
    func `a strict reverse-path filter is seen on all links and on one, but for the tunnel's own`(
        _ all: String,
        _ link: String,
        _ own: String,
        _ isStrict: Bool
    ) {
        let controls = FakeControls(values: [
            "net/ipv4/conf/all/rp_filter": all, "net/ipv4/conf/eth0/rp_filter": link,
            "net/ipv4/conf/tnet0/rp_filter": own, "net/ipv4/conf/lo/rp_filter": "1",
        ])
        #expect(controls.hasStrictReversePathFilter(besides: "tnet0") == isStrict)
    }
}
