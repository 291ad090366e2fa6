package import ControlAPI
import Journal
package import LinuxSystem
import ProviderRuntime
import WireGuardConfig

/// Another configuration for a running tunnel.
extension WireGuardTunnel {
    package func update(
        _ configuration: JSONValue,
        descriptors: [String: SharedDescriptor]
    ) throws(ControlError) -> NetworkSettingsDocument {
        let tunnel = try running()
        let plan = try DevicePlan(configuration, secrets: DeviceSecrets(bundle: descriptors[DescriptorLabel.secrets]))
        try plan.check()
        let sockets: OuterSockets?
        do throws(SystemError) {
            sockets = try OuterSockets(descriptors)
        } catch {
            throw startFailure("The outer sockets can't be used.", reason: error.description)
        }
        let old = tunnel.plan
        do {
            try tunnel.driver.apply(plan, inPlaceOf: old)
        } catch {
            throw startFailure("The configuration can't be applied.", reason: "\(error)")
        }
        tunnel.plan = plan
        tunnel.loop.post(
            .setFragmentation(allowed: plan.configuration.mtu != nil),
            .setDisabledOffloads(plan.configuration.disabledOffloads)
        )
        keepChanges(of: tunnel)
        if let sockets {
            tunnel.use(sockets)
        } else if let port = plan.configuration.listenPort, port != 0, port != tunnel.sockets.port,
            port != old.configuration.listenPort
        {
            askForPort(port)
        }
        logger.info("Another configuration was applied.")
        link.send(.stateChanged)
        return NetworkSettingsDocument(plan.configuration)
    }

    /// The configuration names another port: the tunnel goes on at the old one until it is there.
    private func askForPort(_ port: UInt16) {
        link.send(
            .request(.sockets, name: nil, port: Int(port)) { @Sendable [weak self] answer in
                self?.assumeIsolated { tunnel in tunnel.takePort(answer, port) }
            }
        )
    }

    private func takePort(_ answer: ProviderLink.Answer, _ port: UInt16) {
        guard case .running(let tunnel) = phase else { return }
        if let sockets = newSockets(answer) {
            tunnel.notes["port"] = nil
            tunnel.use(sockets)
            link.send(.descriptorsChanged)
        } else {
            tunnel.notes["port"] = "The port \(port) can't be had; the tunnel goes on at \(tunnel.sockets.port)."
            logger.warning("The port \(port) can't be had, going on at \(tunnel.sockets.port).")
        }
        link.send(.stateChanged)
    }
}
