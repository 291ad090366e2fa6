import ControlAPI
import HostNetwork
import VarlinkSocket

/// Answers `org.tunneld.Diagnostics`.
struct DiagnosticsService: Sendable {
    let catalogue: ProviderCatalogue
    /// What of the store is not as it should be.
    let incidents: Incidents

    func register(_ service: inout VarlinkService) {
        service.on("\(DiagnosticsCalls.interface).Doctor") { request in
            try request.responder.reply(DiagnosticsCalls.DoctorReply(findings: await findings()))
        }
    }

    private func findings() async -> [Finding] {
        let found = MachineFacts.findings()
        var findings = Self.checks.map { check in
            guard let bad = found.first(where: { Self.check(of: $0.code) == check.name }) else {
                return Finding(check: check.name, level: .ok, message: check.good)
            }
            return Finding(
                check: check.name,
                level: bad.isFatal ? .problem : .warning,
                message: [bad.what, bad.why].compactMap(\.self).joined(separator: " "),
                remedy: bad.remedy
            )
        }
        findings.append(await providers())
        findings += incidents.all.map {
            Finding(check: "store", level: .warning, message: $0, remedy: "Look into tunneld's state directory.")
        }
        return findings
    }

    private func providers() async -> Finding {
        let all = await catalogue.installed().map(\.identifier)
        let unusable = await catalogue.unusable
        let remedy = "Put tunnel-provider-wireguard beside tunneld, owned by root or by tunneld's owner."
        guard !all.isEmpty else {
            let message = ["No provider can be used, so no tunnel can run."] + unusable
            return Finding(
                check: "providers",
                level: .problem,
                message: message.joined(separator: " "),
                remedy: unusable.isEmpty ? remedy : "Mend what is named, or install the provider again."
            )
        }
        let message = ["Installed: \(all.joined(separator: ", "))."] + unusable
        return Finding(
            check: "providers",
            level: unusable.isEmpty ? .ok : .warning,
            message: message.joined(separator: " "),
            remedy: unusable.isEmpty ? nil : "Mend what is named, or remove it."
        )
    }

    private static let checks = [
        (name: "tun-device", good: "/dev/net/tun can be opened."),
        (name: "capability", good: "tunneld may change the network (CAP_NET_ADMIN)."),
        (name: "ipv6", good: "IPv6 is on."),
        (name: "clock", good: "The clock is right as far as can be told."),
    ]

    private static func check(of code: MachineFacts.Finding.Code) -> String {
        switch code {
        case .tunMissing, .tunForbidden, .tunNoDriver, .tunBusy, .tunWrongNode, .tunFailed: "tun-device"
        case .noNetworkCapability: "capability"
        case .ipv6Disabled, .ipv6NotInKernel: "ipv6"
        case .clockBehind, .clockUnsynchronized: "clock"
        }
    }
}
