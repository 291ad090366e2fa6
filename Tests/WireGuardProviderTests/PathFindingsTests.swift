import ControlAPI
import LinuxSystem
import NetworkTypes
import Testing

@testable import WireGuardProvider

/// C062.
@Suite struct PathFindingsTests {
    private let start = Instant.zero + .seconds(1000)
    private let four = IPAddress.v4(IPv4Address(192, 0, 2, 1))
    private let six = IPAddress.v6(IPv6Address(high: 0x2001_0db8_0000_0000, low: 1))
    private let clock = WallClock(
        now: .zero + .seconds(1000),
        wall: WallClockTime(seconds: 1_796_000_000, nanoseconds: 0)
    )

    @Test func `a path is tried again after ten minutes, and then ever more rarely`() {
        var findings = PathFindings()
        #expect(findings.deadline == nil && findings.limits == nil)
        var now = start
        for minutes in [10, 20, 40, 80, 160, 160] {
            findings.note(four, passing: 1280, failing: 1500, now: now)
            #expect(findings.limits == ["192.0.2.1": 1280])
            #expect(findings.deadline == now + .seconds(minutes * 60))
            #expect(findings.raise(now: now + .seconds(minutes * 60 - 1)).isEmpty)
            now = now + .seconds(minutes * 60)
            #expect(findings.raise(now: now) == [four] && findings.limits == nil && findings.deadline == nil)
        }
    }

    @Test func `only those whose time has come are given up`() {
        var findings = PathFindings()
        findings.note(four, passing: 1280, failing: 1500, now: start)
        findings.note(six, passing: 1400, failing: 1500, now: start + .seconds(60))
        #expect(findings.raise(now: start + .seconds(600)) == [four])
        #expect(findings.limits == ["2001:db8::1": 1400] && findings.deadline == start + .seconds(660))
    }

    @Test func `a person is told what is lost, what that means, and what to do`() {
        var findings = PathFindings()
        findings.note(four, passing: 1280, failing: 1500, now: start)
        findings.note(six, passing: 1400, failing: 1480, now: start)
        let automatic = findings.notes(stated: nil, clock: clock)
        #expect(automatic.count == 2)
        #expect(
            automatic.first
                == "The path to 192.0.2.1 loses packets of 1500 bytes without a word (no \"too big\" comes back), "
                + "and carries 1280: the MTU is at most 1220 therefore. Longer ones are tried again at "
                + "\(clock.timestamp(ahead: start + .seconds(600)))."
        )
        #expect(automatic.last?.contains("carries 1400: the MTU is at most 1320 therefore.") == true)
        #expect(clock.timestamp(ahead: start + .seconds(600)).description > clock.timestamp(at: start).description)
        let stated = findings.notes(stated: 1420, clock: clock)
        #expect(
            stated.first?.hasSuffix(
                "and carries 1280. The MTU stays 1420, as the configuration states it: state 1220, or leave it out."
            ) == true
        )
    }

    @Test func `a peer that comes from ever other addresses fills no memory`() {
        var findings = PathFindings()
        for number in 0..<1000 {
            findings.note(.v4(IPv4Address(UInt32(number))), passing: 1280, failing: 1500, now: start)
        }
        #expect(findings.findings.count <= PathFindings.limit)
    }
}
