import EventLoop
import Journal
import LinuxSystem
import NetworkTypes
import ControlAPI
import ProviderRuntime
import WireGuardCore

/// The real world of one tunnel's driver.
///
/// Belongs to the control queue.
final class TunnelOutside: DeviceOutside {
    typealias Found = @Sendable (_ name: String, PeerIdentifier, ProviderLink.Answer) -> Void

    private let loop: PacketLoop
    private let link: ProviderLink
    private let timer: BootTimer
    private let found: Found
    private let logger: Logger

    /// - Parameter found: called with the answer to a look-up.
    init(
        loop: PacketLoop,
        link: ProviderLink,
        timer: BootTimer,
        logger: Logger,
        found: @escaping Found
    ) {
        self.loop = loop
        self.link = link
        self.timer = timer
        self.logger = logger
        self.found = found
    }

    func moment() -> Moment {
        let clock = WallClock.read()
        return Moment(now: clock.now, wallClock: clock.label)
    }

    func post(_ commands: [LoopCommand]) { loop.post(commands) }

    func arm(_ deadline: Instant?) { timer.set(deadline) }

    func lookUp(_ name: String, for peer: PeerIdentifier) {
        link.send(.request(.resolve, name: name, port: nil) { [found] answer in found(name, peer, answer) })
    }

    func interfaceIndex(_ zone: String) -> UInt32? { InterfaceZone.index(zone) }

    func interfaceName(_ index: UInt32) -> String? { InterfaceZone.name(index) }

    func changed() { link.send(.stateChanged) }

    func log(_ event: DeviceEvent) {
        switch event {
        case .sharedKey(let peer, let first, let second):
            logger.warning(
                "The peer \(peer) is heard from two addresses in turn, so its key may be in use on two machines; going on "
                    + "with the latest."
            )
            logger.debug("They are \(first) and \(second).")
        case .pathLost: logger.notice("This machine has no way to the peers; waiting for one.")
        case .verdict(.connected): logger.notice("Connected: a peer has answered.")
        case .verdict(.connecting): break
        case .verdict(.reasserting): logger.notice("The peers are silent; calling them again.")
        }
    }

    func close() { timer.cancel() }
}
