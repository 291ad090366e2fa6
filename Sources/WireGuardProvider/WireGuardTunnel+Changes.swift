import Journal
import LinuxSystem
import NetworkTypes
import ProviderRuntime
import WireGuardCore

/// The session's own changes, which outlive a provider.
extension WireGuardTunnel {
    /// Has tunneld keep what is different from the configuration now.
    func keepChanges(of tunnel: RunningTunnel) {
        let change = tunnel.driver.changes(since: tunnel.plan)
        guard !change.isEmpty || tunnel.changes != nil else { return }
        do throws(SystemError) {
            tunnel.changes = try SessionChanges.seal(change)
            link.send(.descriptorsChanged)
        } catch {
            logger.warning("What wg changed can't be kept for another provider, going on: \(error)")
        }
    }

    /// Goes on with what an earlier provider of the session was changed to; the configuration alone is better than nothing.
    func restore(_ changes: SharedDescriptor, of tunnel: RunningTunnel, hints: [PublicKey: Endpoint]) {
        do {
            try tunnel.driver.apply(try SessionChanges.open(changes), hints: hints)
            tunnel.changes = changes
        } catch {
            tunnel.notes["changes"] = "What was changed with wg is lost; the configuration is in force."
            logger.warning("What wg had changed can't be applied again, going on with the configuration: \(error)")
        }
    }
}
