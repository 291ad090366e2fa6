import CommandLineTool
import ControlAPI
import Glibc
import HostNetwork
import LinuxSystem
import Testing

/// `stats`, `doctor`, `version` and `help`.
@Suite struct MachineCommandTests {
    @Test func `the counters are told as estimates, those of the peers as outside the tunnel`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.sessions = [Samples.connected()] }
        let ran = await Ran.tunnelctl("stats", "home", socket: fake.socket)
        #expect(ran.output == (try fixture("stats.txt")))
        let json = await Ran.tunnelctl("stats", "home", "--json", socket: fake.socket)
        #expect(try json.json(SessionsCalls.StatisticsReply.self).counters == Samples.connected().counters)
        await fake.stop()
    }

    @Test func `the doctor tells what tunneld found and what it sees itself, and how to mend it`() async throws {
        let fake = try await FakeTunneld()
        fake.update {
            $0.findings = [
                Finding(
                    check: "tun-device",
                    level: .problem,
                    message: "There is no /dev/net/tun.",
                    remedy: "modprobe tun"
                )
            ]
        }
        let ran = await Ran.tunnelctl("doctor", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.output.contains("ok       tunneld     tunneld is running.\n"))
        #expect(ran.output.contains("problem  tun-device  There is no /dev/net/tun.\n"))
        #expect(ran.output.contains("do: modprobe tun\n"))
        #expect(ran.output.contains("ipv6"), "the local checks come too")
        let json = try await Ran.tunnelctl("doctor", "--json", socket: fake.socket).json(
            DiagnosticsCalls.DoctorReply.self
        )
        #expect(json.findings.count { $0.check == "tun-device" } == 1, "tunneld's word counts")
        await fake.stop()
    }

    @Test func `the doctor works without tunneld, and its absence is a problem`() async throws {
        let ran = await Ran.tunnelctl("doctor", "--json", socket: "/nonexistent/control")
        #expect(ran.code == .failed)
        let findings = try ran.json(DiagnosticsCalls.DoctorReply.self).findings
        let absence = try #require(findings.first)
        #expect(absence.check == "tunneld" && absence.level == .problem)
        #expect(absence.remedy?.contains("tunneld") == true)
        #expect(findings.contains { $0.check == "tun-device" })
    }

    @Test func `each fact that is wrong is a finding, the others are fine`() {
        let fact = MachineFacts.tunFinding(SystemError(ENOENT, in: "stat"), "/dev/net/tun")
        let findings = LocalChecks.machine([fact], capabilityIsKnown: true)
        #expect(findings.map(\.check) == ["tun-device", "capability", "ipv6", "clock"])
        #expect(findings.map(\.level) == [.problem, .ok, .ok, .ok])
        #expect(findings[0].message == "There is no /dev/net/tun. stat: No such file or directory (ENOENT)")
        #expect(findings[0].remedy == fact.remedy)
        #expect(LocalChecks.machine([], capabilityIsKnown: false).map(\.check) == ["tun-device", "ipv6", "clock"])
    }

    @Test func `a path too narrow for IPv6 inside is a warning, and so is one that isn't there`() {
        let wide = TunnelMTU.Path(mtu: 1500, isIPv6: false)
        let narrow = TunnelMTU.Path(mtu: 1330, isIPv6: false)
        #expect(LocalChecks.path([("a", wide)]).map(\.level) == [.ok])
        let warned = LocalChecks.path([("a", wide), ("b", narrow)])
        #expect(warned.map(\.level) == [.warning])
        #expect(warned[0].message == "The path to b carries 1330 bytes, 1270 in a tunnel.")
        #expect(LocalChecks.path([("a", wide), ("b", nil)]).map(\.message) == ["No route leads to b."])
    }

    @Test func `without an endpoint the default route is told, with its link, or that there is none`() {
        let note = "No running tunnel has an endpoint, so the default route was looked at"
        let wide = DefaultPath(interface: "eth0", path: TunnelMTU.Path(mtu: 1500, isIPv6: false))
        let narrow = DefaultPath(interface: "wlan0", path: TunnelMTU.Path(mtu: 1480, isIPv6: true))
        let fine = LocalChecks.wayOut([wide, narrow])
        #expect(fine.level == .ok && fine.check == "path-mtu")
        #expect(fine.message == "\(note): it goes by wlan0, which carries 1480 bytes, 1400 in a tunnel.")
        let none = LocalChecks.wayOut([])
        #expect(none.level == .warning)
        #expect(none.message == "\(note): there is none.")
        #expect(none.remedy?.contains("Connect this machine") == true)
    }

    @Test func `both versions are told, and a difference`() async throws {
        let fake = try await FakeTunneld(version: "0.0.9")
        let ran = await Ran.tunnelctl("version", socket: fake.socket)
        #expect(ran.output == "tunnelctl \(ProductVersion.version)\ntunneld 0.0.9\n")
        #expect(ran.errors.contains("The versions differ"))
        await fake.stop()
        let alone = await Ran.tunnelctl("version", "--json", socket: "/nonexistent/control")
        #expect(alone.code == .done)
        #expect(try alone.json(JSONValue.self) == ["tunnelctl": .string(ProductVersion.version), "tunneld": .null])
    }

    @Test func `help tells all commands, or one, and as JSON the argument table`() async throws {
        let all = await Ran.tunnelctl("help", socket: "")
        #expect(all.code == .done)
        #expect(all.output.contains("\n  up        Start a tunnel and wait"))
        let one = await Ran.tunnelctl("up", "--help", socket: "")
        #expect(one.output == (try fixture("help-up.txt")))
        let table = try await Ran.tunnelctl("help", "--json", socket: "").json([JSONValue].self)
        #expect(table.compactMap { $0["name"]?.string } == Command.allCases.map(\.rawValue))
        let unknown = await Ran.tunnelctl("help", "stauts", socket: "")
        #expect(unknown.code == .wrongUsage)
    }
}
