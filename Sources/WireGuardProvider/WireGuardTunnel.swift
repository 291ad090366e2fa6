package import ControlAPI
import Dispatch
import EventLoop
import Glibc
import Journal
package import LinuxSystem
import NetworkTypes
import PacketIO
package import ProviderRuntime
import WireGuardCore

/// A WireGuard tunnel in its provider's process; lives on the control queue.
package actor WireGuardTunnel: TunnelProvider {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe link.executor.asUnownedSerialExecutor() }

    enum Phase {
        case waiting
        case running(RunningTunnel)
        case stopping
        case failed(ControlError)
    }

    nonisolated let link: ProviderLink
    var phase = Phase.waiting
    var logger = Logger.process

    package init(link: ProviderLink) { self.link = link }

    package func start(
        _ parameters: ProviderCalls.StartParameters,
        descriptors: [String: SharedDescriptor]
    ) throws(ControlError) -> NetworkSettingsDocument {
        guard case .waiting = phase else {
            throw ControlError(
                .providerFailed,
                "The tunnel can't be started.",
                reason: "This provider runs one already, or has run one.",
                remedy: "A provider runs one tunnel once: launch another."
            )
        }
        logger = logger.with(.tunnelID(parameters.identifier), .tunnelName(parameters.name))
        let tunnel = try makeTunnel(parameters, descriptors)
        phase = .running(tunnel)
        logger.info("Started on the interface \(tunnel.interface).")
        link.send(.stateChanged)
        return NetworkSettingsDocument(tunnel.plan.configuration)
    }

    package func settingsApplied(mtu: Int) throws(ControlError) {
        let tunnel = try running()
        // RFC 791: every link carries at least so much.
        guard (68...65535).contains(mtu) else {
            throw ControlError(
                .invalidParameter,
                "The MTU can't be used.",
                reason: "It is \(mtu), and should be from 68 to 65535.",
                field: "mtu"
            )
        }
        tunnel.loop.post(.setMTU(mtu))
        guard !tunnel.isApplied else { return }
        tunnel.isApplied = true
        let loop = tunnel.loop
        Task { [weak self] in
            do {
                try await loop.start()
            } catch {
                await self?.fail("The packet loop can't begin.", reason: "\(error)")
            }
        }
        logger.info("The network settings are in force; calling the peers.")
        tunnel.driver.start()
        link.send(.stateChanged)
    }

    package func pathChanged(_ change: ProviderCalls.PathChangedParameters) {
        guard case .running(let tunnel) = phase else { return }
        if let network = change.network { tunnel.driver.memory.enter(network) }
        let isLost = change.available == false
        if !isLost { tunnel.loop.post(.forgetPaths) }
        tunnel.driver.obstacle = isLost ? change.obstacle : nil
        if !isLost, change.moved != false { forgetFindings(tunnel) }
        tunnel.driver.networkChanged(isLost ? .lost : change.moved == false ? .elsewhere : .moved)
    }

    package func sleep(_ done: @escaping @Sendable () -> Void) {
        if case .running(let tunnel) = phase {
            tunnel.driver.sleep()
            logger.info("The machine is about to sleep.")
        }
        done()
    }

    package func wake() {
        guard case .running(let tunnel) = phase else { return }
        logger.info("The machine woke up; asking the peers for an answer.")
        tunnel.driver.wake()
    }

    package func roundTrip(_ done: @escaping @Sendable () -> Void) {
        // Before its start the loop has nothing to carry.
        guard case .running(let tunnel) = phase, tunnel.isApplied else { return done() }
        tunnel.loop.post(.answer(done))
    }

    package func descriptors() -> [(label: String, descriptor: SharedDescriptor)] {
        guard case .running(let tunnel) = phase else { return [] }
        let all: [(String, SharedDescriptor?)] = [
            (DescriptorLabel.tun, tunnel.device), (DescriptorLabel.udp4, tunnel.sockets.v4),
            (DescriptorLabel.udp6, tunnel.sockets.v6), (DescriptorLabel.wg, tunnel.deviceSocket?.listener),
            (DescriptorLabel.changes, tunnel.changes),
        ]
        return all.compactMap { label, descriptor in descriptor.map { (label, $0) } }
    }

    package func state() -> ProviderState {
        switch phase {
        case .waiting: return ProviderState(phase: .waiting, status: .connecting, stage: .providerStarted)
        case .stopping: return ProviderState(phase: .stopping, status: .disconnecting, stage: .providerStarted)
        case .failed(let error):
            var state = ProviderState(phase: .failed, status: .disconnected, stage: .providerStarted)
            state.error = error
            return state
        case .running(let tunnel):
            var state = ProviderState(
                phase: tunnel.isApplied ? .ready : .starting,
                status: .connecting,
                stage: .providerStarted
            )
            state.session = tunnel.session
            state.interface = tunnel.interface
            state.listenPort = Int(tunnel.sockets.port)
            state.notes = tunnel.notes.sorted { $0.key < $1.key }.map(\.value)
            state.notes += pathNotes(tunnel)
            state.pathLimits = tunnel.findings.limits
            if let note = LockedKeys.note { state.notes.append(note) }
            tunnel.driver.fill(&state, clock: .read())
            return state
        }
    }

    package func stop(reason: String) {
        switch phase {
        case .running(let tunnel):
            phase = .stopping
            logger.info("Stopping: \(reason)")
            tunnel.close()
            let loop = tunnel.loop
            Task { [link] in
                await loop.stop()
                link.executor.queue.async { @Sendable in link.send(.ended) }
            }
        case .waiting:
            phase = .stopping
            link.send(.ended)
        // It is on its way out.
        case .stopping, .failed: break
        }
    }

    func running() throws(ControlError) -> RunningTunnel {
        guard case .running(let tunnel) = phase else {
            throw ControlError(
                .notRunning,
                "The provider runs no tunnel.",
                reason: "It hasn't been started, or it ends.",
                remedy: "Start the tunnel."
            )
        }
        return tunnel
    }

    /// Ends the process: the tunnel can't go on.
    func fail(_ message: String, reason: String) {
        guard case .running(let tunnel) = phase else { return }
        let error = ControlError(.providerFailed, message, reason: reason, remedy: "tunneld starts another provider.")
        phase = .failed(error)
        logger.error("\(message) \(reason)")
        tunnel.close()
        link.send(.failed(error))
    }
}
