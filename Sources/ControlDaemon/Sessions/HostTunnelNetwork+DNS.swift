package import ControlAPI
package import HostNetwork

/// A tunnel's name servers, as part of its network settings.
extension HostTunnelNetwork {
    package func checkDNS() async throws(ControlError) {
        guard !dnsIsOptional else { return }
        do throws(DNSError) {
            _ = try await dns.choose()
        } catch {
            throw Self.dnsError(error)
        }
    }

    package func adoptDNS(
        _ settings: NetworkSettingsDocument,
        _ policy: RoutingPolicy,
        _ journal: NetworkJournal
    ) async {
        guard let record = journal.dns,
            let wanted = try? TunnelNetworkSettings(settings, policy: policy, interface: record.interface, port: nil)
        else { return }
        await dns.adopt(LinkDNS(wanted.dns, isFullTunnel: wanted.isFullTunnel), record)
    }

    enum DNSChoice {
        /// The tunnel has none.
        case none
        case backend(DNSBackend)
        /// It goes on without.
        case goOnWithout(DNSError)
    }

    /// How the name servers are to be put in force.
    func chooseDNS(for wanted: TunnelNetworkSettings, _ journal: NetworkJournal) async throws(ControlError) -> DNSChoice
    {
        // A tunnel without name servers needs neither a bus nor a file.
        guard !wanted.dns.isEmpty else { return .none }
        do throws(DNSError) {
            return .backend(try await dns.choose(present: journal.dns))
        } catch {
            guard dnsIsOptional else { throw Self.dnsError(error) }
            return .goOnWithout(error)
        }
    }

    func applyDNS(
        _ wanted: TunnelNetworkSettings,
        _ choice: DNSChoice,
        _ journal: inout NetworkJournal,
        _ record: @escaping @Sendable (NetworkJournal) throws -> Void
    ) async throws(ControlError) -> AppliedDNS? {
        switch choice {
        case .none:
            guard let present = journal.dns else { return nil }
            let remains = await dns.remove(present)
            guard remains.isEmpty else {
                throw ControlError(
                    .networkSettingsFailed,
                    "The tunnel's name servers can't be taken back.",
                    reason: remains.joined(separator: " ")
                )
            }
            journal.dns = nil
            try? record(journal)
            return nil
        case .goOnWithout(let error): return Self.without(error)
        case .backend(let backend):
            let network = journal
            do throws(DNSError) {
                journal.dns = try await dns.apply(
                    LinkDNS(wanted.dns, isFullTunnel: wanted.isFullTunnel),
                    to: wanted.interface,
                    backend,
                    present: journal.dns
                ) { dns throws(DNSError) in
                    var network = network
                    network.dns = dns
                    do { try record(network) } catch {
                        throw DNSError(
                            "The tunnel's name servers can't be put in force.",
                            why: "The journal of changes can't be written: \(error)",
                            remedy: "See the reason."
                        )
                    }
                }
            } catch {
                guard dnsIsOptional else { throw Self.dnsError(error) }
                return Self.without(error)
            }
            return await readDNS(wanted.interface)
        }
    }

    private func readDNS(_ interface: InterfaceIdentity) async -> AppliedDNS? {
        guard let report = await dns.report(of: interface) else { return nil }
        return AppliedDNS(
            backend: report.backend.rawValue,
            isEffective: report.isEffective,
            note: report.notes.isEmpty ? nil : report.notes.joined(separator: " ")
        )
    }

    /// How they fare now; that there are none stays so.
    func readDNS(_ interface: InterfaceIdentity, _ applied: AppliedNetwork) async -> AppliedDNS? {
        guard applied.dns != nil else { return nil }
        return await readDNS(interface) ?? applied.dns
    }

    private static func without(_ error: DNSError) -> AppliedDNS {
        AppliedDNS(
            backend: nil,
            isEffective: false,
            note: "DNS not applied: \(error.what) \(error.why) The tunnel goes on without, as tunneld.conf has it."
        )
    }

    private static func dnsError(_ error: DNSError) -> ControlError {
        ControlError(.networkSettingsFailed, error.what, reason: error.why, remedy: error.remedy)
    }
}
