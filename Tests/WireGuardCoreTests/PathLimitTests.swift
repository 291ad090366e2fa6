import NetworkTypes
import Testing
import WireGuardCore

@Suite struct PathLimitTests {
    private let start = Instant.zero + .seconds(1000)

    @Test func `nothing is known at first`() {
        let limit = PathLimit()
        #expect(limit.longest == .max && limit.told(mtu: 1420, isIPv6: false) == 1420)
    }

    /// 20 or 40 bytes of IP header, 8 of UDP, 32 of the transport message.
    @Test(arguments: [
        (1280, false, 1220), (1280, true, 1200), (1500, false, 1440), (1500, true, 1420), (9000, false, 8940),
    ])
    func `a path's MTU leaves so much for a packet`(mtu: Int, isIPv6: Bool, longest: Int) {
        var limit = PathLimit()
        limit.narrow(toMTU: mtu, isIPv6: isIPv6, now: start)
        #expect(limit.longest == longest)
    }

    @Test func `the narrowest counts, and after ten minutes nothing`() {
        var limit = PathLimit()
        limit.narrow(toMTU: 1400, isIPv6: false, now: start)
        limit.narrow(toMTU: 1300, isIPv6: false, now: start)
        limit.narrow(toMTU: 1350, isIPv6: false, now: start + .seconds(10))
        #expect(limit.longest == 1240)
        limit.expire(now: start + .seconds(609))
        #expect(limit.longest == 1240)
        limit.expire(now: start + .seconds(610))
        #expect(limit == PathLimit())
    }

    @Test(arguments: [0, 1, 68, 79, 575, Int(UInt32.max)])
    func `what anybody claims, nobody is told less than every path takes`(mtu: Int) {
        var limit = PathLimit()
        limit.narrow(toMTU: mtu, isIPv6: true, now: start)
        #expect(limit.longest >= 0)
        #expect(limit.told(mtu: 1420, isIPv6: false) == (mtu > 1480 ? 1420 : 576))
        #expect(limit.told(mtu: 1420, isIPv6: true) == (mtu > 1480 ? 1420 : 1280))
    }

    @Test func `the tunnel's own MTU counts where it is the smaller one`() {
        var limit = PathLimit()
        limit.narrow(toMTU: 1500, isIPv6: false, now: start)
        #expect(limit.told(mtu: 1420, isIPv6: false) == 1420 && limit.told(mtu: 8900, isIPv6: false) == 1440)
    }
}
