import NetworkTypes
import WireGuardCore

/// What a device's driver needs of the world: clocks, the packet loop, look-ups, one timer.
///
/// Used on the control queue alone; a test has a recording one.
protocol DeviceOutside: AnyObject {
    /// What the clocks show.
    func moment() -> Moment
    /// Tells the packet loop.
    func post(_ commands: [LoopCommand])
    /// Has the driver's `expire` called at an instant, in place of any earlier one; nil: never.
    func arm(_ deadline: Instant?)
    /// Asks for a name's addresses, for the driver's `lookedUp`.
    func lookUp(_ name: String, for peer: PeerIdentifier)
    /// The number of an interface, given by name or number; nil where there is none.
    func interfaceIndex(_ zone: String) -> UInt32?
    /// The name of an interface; nil where there is none of this number.
    func interfaceName(_ index: UInt32) -> String?
    /// Something that tunneld is told of has changed.
    func changed()
    func log(_ event: DeviceEvent)
}

/// What an operator may want to read of a device.
enum DeviceEvent: Equatable {
    case sharedKey(peer: PublicKey, Endpoint, Endpoint)
    /// What the peers together say of the tunnel is different now.
    case verdict(DeviceVerdict)
    /// This machine has no way to the peers any more.
    case pathLost
}
