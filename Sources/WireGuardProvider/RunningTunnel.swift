import ControlAPI
import EventLoop
import Journal
import LinuxSystem
import NetworkTypes
import PacketIO
import ProviderRuntime
import TunnelCrypto
import WireGuardConfig
import WireGuardCore

/// What there is of a tunnel between its start and its end.
///
/// Belongs to the control queue.
final class RunningTunnel {
    let interface: String
    let session: String
    let device: SharedDescriptor
    let loop: PacketLoop
    let driver: DeviceDriver
    let outside: TunnelOutside
    /// Fires when `findings` has a path to be tried again.
    let raiseTimer: BootTimer
    var findings = PathFindings()
    var sockets: OuterSockets
    var plan: DevicePlan
    /// nil where tunneld could not make one.
    var deviceSocket: DeviceSocket?
    /// What `wg set` has changed beside the plan, for a provider that takes this one's place; nil for nothing so far.
    var changes: SharedDescriptor?
    /// Whether an operation of `wg` waits for other sockets; the next ones wait behind it.
    var isChangingPort = false
    /// Whether tunneld has been asked for a look at the path.
    var isPathLookedAt = false
    /// Whether the network settings are in force.
    var isApplied = false
    /// Those that were told already.
    var missingOffloads: Set<String> = []
    /// Things a person should know, by their cause.
    var notes: [String: String] = [:]

    init(
        interface: String,
        session: String,
        device: SharedDescriptor,
        loop: PacketLoop,
        driver: DeviceDriver,
        outside: TunnelOutside,
        raiseTimer: BootTimer,
        sockets: OuterSockets,
        plan: DevicePlan
    ) {
        self.interface = interface
        self.session = session
        self.device = device
        self.loop = loop
        self.driver = driver
        self.outside = outside
        self.raiseTimer = raiseTimer
        self.sockets = sockets
        self.plan = plan
    }

    /// Sends and receives on other sockets from now on.
    func use(_ sockets: OuterSockets) {
        self.sockets = sockets
        loop.post(.setSockets(v4: sockets.v4, v6: sockets.v6))
    }

    func close() {
        deviceSocket?.close()
        outside.close()
        raiseTimer.cancel()
    }
}
