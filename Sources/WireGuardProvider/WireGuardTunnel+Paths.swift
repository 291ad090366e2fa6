import ControlAPI
import EventLoop
import Journal
import LinuxSystem
import NetworkTypes
import ProviderRuntime
import WireGuardConfig

/// What the paths to the peers carry.
extension WireGuardTunnel {
    /// The packet loop found a path that swallows long packets.
    func found(blackHoleAt address: IPAddress, passing: Int, failing: Int, _ tunnel: RunningTunnel) {
        tunnel.findings.note(address, passing: passing, failing: failing, now: .now())
        findingsChanged(tunnel)
        logger.notice("The path to a peer loses packets of \(failing) bytes without a word, and carries \(passing).")
    }

    /// The time has come to try longer packets again.
    func raiseTimerFired() {
        guard case .running(let tunnel) = phase else { return }
        for address in tunnel.findings.raise(now: .now()) { tunnel.loop.post(.forgetBlackHoles(at: address)) }
        findingsChanged(tunnel)
    }

    /// The network is another one.
    func forgetFindings(_ tunnel: RunningTunnel) {
        tunnel.loop.post(.forgetBlackHoles(at: nil))
        let isNews = !tunnel.findings.findings.isEmpty
        tunnel.findings = PathFindings()
        if isNews { findingsChanged(tunnel) }
    }

    /// tunneld takes the limits from the state, and has the interface's MTU follow them.
    private func findingsChanged(_ tunnel: RunningTunnel) {
        tunnel.raiseTimer.set(tunnel.findings.deadline)
        link.send(.stateChanged)
    }

    func pathNotes(_ tunnel: RunningTunnel) -> [String] {
        tunnel.findings.notes(stated: tunnel.plan.configuration.mtu, clock: .read())
    }

    /// Has tunneld look what the path carries now; one look at a time is enough.
    func lookAtPath(_ tunnel: RunningTunnel) {
        guard !tunnel.isPathLookedAt else { return }
        tunnel.isPathLookedAt = true
        link.send(
            .request(.path, name: nil, port: nil) { @Sendable [weak self] _ in
                self?.assumeIsolated { provider in
                    if case .running(let tunnel) = provider.phase { tunnel.isPathLookedAt = false }
                }
            }
        )
    }
}
