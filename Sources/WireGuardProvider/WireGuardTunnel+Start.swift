import ControlAPI
import EventLoop
import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO
import ProviderRuntime
import TunnelCrypto
import WireGuardConfig
import WireGuardCore

/// Putting a tunnel together.
extension WireGuardTunnel {
    /// - Throws: why it can't be; every descriptor is closed again then.
    func makeTunnel(
        _ parameters: ProviderCalls.StartParameters,
        _ descriptors: [String: SharedDescriptor]
    ) throws(ControlError) -> RunningTunnel {
        let secrets = try DeviceSecrets(bundle: descriptors[DescriptorLabel.secrets])
        let hints = hints(parameters)
        let plan = try DevicePlan(parameters.configuration, secrets: secrets, hints: hints)
        try plan.check()
        let latest = parameters.lastTimestamp.flatMap(WireGuardCore.Timestamp.init(hexadecimal:))
        guard
            let core = LibraryDeviceCore(privateKey: plan.privateKey, random: SecureRandom(), lastTimestamp: latest)
        else { throw startFailure("The private key can't be used.", reason: "It has no public key.") }
        let sockets = try outerSockets(descriptors)
        let device = try tunDevice(parameters.interface, descriptors)
        let descriptor = device.descriptor
        do {
            let loop = try makeLoop(device, sockets, mtu: plan.configuration.mtu ?? 1420)
            loop.post(
                .setFragmentation(allowed: plan.configuration.mtu != nil),
                .setDisabledOffloads(plan.configuration.disabledOffloads)
            )
            let outside = TunnelOutside(
                loop: loop,
                link: link,
                timer: try BootTimer(on: link.executor.queue) { @Sendable [weak self] in
                    self?.assumeIsolated { $0.timerFired() }
                },
                logger: logger,
                found: { @Sendable [weak self] name, peer, answer in
                    self?.assumeIsolated { $0.lookedUp(name, peer, answer) }
                }
            )
            let driver = DeviceDriver(core, outside: outside)
            if let network = parameters.network { driver.memory.enter(network) }
            let tunnel = RunningTunnel(
                interface: parameters.interface,
                session: parameters.session,
                device: descriptor,
                loop: loop,
                driver: driver,
                outside: outside,
                raiseTimer: try BootTimer(on: link.executor.queue) { @Sendable [weak self] in
                    self?.assumeIsolated { $0.raiseTimerFired() }
                },
                sockets: sockets,
                plan: plan
            )
            try openDeviceSocket(descriptors[DescriptorLabel.wg], of: tunnel)
            for (key, counters) in parameters.peerCounters ?? [:] {
                if let key = PublicKey(key) { driver.carried[key] = counters }
            }
            try driver.addPeers(of: plan)
            if let changes = descriptors[DescriptorLabel.changes] { restore(changes, of: tunnel, hints: hints) }
            return tunnel
        } catch {
            throw startFailure("The tunnel can't be put together.", reason: "\(error)")
        }
    }

    private func makeLoop(
        _ device: sending TunDevice,
        _ sockets: OuterSockets,
        mtu: Int
    ) throws(SystemError) -> PacketLoop {
        var v4: UDPSocket?
        var v6: UDPSocket?
        if let descriptor = sockets.v4 { v4 = try UDPSocket(adopting: descriptor) }
        if let descriptor = sockets.v6 { v6 = try UDPSocket(adopting: descriptor) }
        return try PacketLoop(device: device, v4: v4, v6: v6, mtu: mtu, noticeQueue: link.executor.queue) {
            @Sendable [weak self] notices in self?.assumeIsolated { $0.take(notices) }
        }
    }

    private func openDeviceSocket(_ listener: SharedDescriptor?, of tunnel: RunningTunnel) throws(SystemError) {
        guard let listener else { return }
        tunnel.deviceSocket = try DeviceSocket(listener, on: link.executor.queue) { @Sendable [weak self] event in
            self?.assumeIsolated { $0.serveDeviceSocket(event) }
        }
    }

    private func outerSockets(_ descriptors: [String: SharedDescriptor]) throws(ControlError) -> OuterSockets {
        do throws(SystemError) {
            if let sockets = try OuterSockets(descriptors) { return sockets }
        } catch {
            throw startFailure("The outer sockets can't be used.", reason: error.description)
        }
        throw ControlError(
            .invalidParameter,
            "The tunnel needs an outer socket.",
            reason: "Neither \(DescriptorLabel.udp4) nor \(DescriptorLabel.udp6) was passed.",
            field: "descriptors"
        )
    }

    /// An attached device that was passed, or the named one, by its ownership.
    private func tunDevice(
        _ interface: String,
        _ descriptors: [String: SharedDescriptor]
    ) throws(ControlError) -> TunDevice {
        do throws(SystemError) {
            if let attached = descriptors[DescriptorLabel.tun] { return try TunDevice(adopting: attached) }
            if let node = descriptors[DescriptorLabel.tunNode] {
                return try TunDevice.attach(interface, through: node.duplicate())
            }
            return try TunDevice.attach(interface, through: nil)
        } catch {
            throw ControlError(
                .providerFailed,
                "The provider can't attach to the TUN device \(interface).",
                reason: error.description,
                remedy: remedy(for: error)
            )
        }
    }

    private func remedy(for error: SystemError) -> String {
        switch error.code {
        case ENOENT: "There is no /dev/net/tun: load the module tun, or give the container the device."
        case ENODEV, ENXIO: "The kernel has no TUN driver: load the module tun."
        case EACCES: "/dev/net/tun isn't for this user: give it mode 0666, as udev does."
        case EPERM: "The device belongs to another user, or the container forbids it; tunneld makes it for this one."
        case EBUSY: "Another process is attached to it: end that one."
        default: "tunnelctl doctor checks what this machine has."
        }
    }

    private func hints(_ parameters: ProviderCalls.StartParameters) -> [PublicKey: Endpoint] {
        var hints: [PublicKey: Endpoint] = [:]
        for (key, text) in parameters.endpointHints ?? [:] {
            if let key = PublicKey(key), let endpoint = Endpoint(text, zone: InterfaceZone.index) {
                hints[key] = endpoint
            }
        }
        return hints
    }

    func startFailure(_ message: String, reason: String) -> ControlError {
        ControlError(.providerFailed, message, reason: reason, remedy: "tunnelctl doctor checks what this machine has.")
    }
}

extension WireGuardCore.Timestamp {
    /// Reads 24 hexadecimal digits; nil for anything else.
    fileprivate init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count == 2 * Self.byteCount else { return nil }
        self.init(bytes: stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }
}
