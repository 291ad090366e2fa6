import NetworkTypes
import WireGuardCore

/// What the driver keeps of a peer beside what `DeviceCore` knows.
final class DevicePeer {
    let identifier: PeerIdentifier
    let publicKey: PublicKey
    let watch = PeerWatch()
    /// nil for none.
    var presharedKey: SecretKey?
    /// nil for a peer that calls us.
    var search: EndpointSearch?
    /// The endpoint as it was configured: a name perhaps.
    var configuredEndpoint: String?
    var persistentKeepaliveSeconds: UInt16
    /// The initiation that was sent last, for another address where this machine has no way to the first.
    var initiation: [UInt8] = []
    /// Where it went.
    var called: Endpoint?
    /// What the system said when it last failed: "Network is unreachable".
    var failureDetail: String?
    /// Where that was; the next address may be called by now.
    var failedEndpoint: Endpoint?

    init(_ identifier: PeerIdentifier, _ settings: DevicePeerSettings) {
        self.identifier = identifier
        publicKey = settings.publicKey
        presharedKey = settings.presharedKey
        search = settings.origin.map { EndpointSearch($0) }
        configuredEndpoint = settings.configuredEndpoint
        persistentKeepaliveSeconds = settings.persistentKeepaliveSeconds
    }

    /// Takes note of a handshake message that is about to leave.
    ///
    /// - Returns: where an initiation goes, if its peer is one that is looked for: the address may be another one by now.
    func calls(with datagram: [UInt8]) -> Endpoint? {
        guard datagram.count == DatagramKind.initiationSize else { return nil }
        initiation = datagram
        called = search?.current
        return called
    }
}

/// A peer as a configuration or `wg set` describes it.
struct DevicePeerSettings {
    var publicKey: PublicKey
    var presharedKey: SecretKey?
    var origin: EndpointSearch.Origin?
    var configuredEndpoint: String?
    /// Where it was heard last, by an earlier provider.
    var hint: Endpoint?
    var persistentKeepaliveSeconds: UInt16 = 0
    /// Without host bits.
    var allowedIPs: [IPPrefix] = []

    init(publicKey: PublicKey) { self.publicKey = publicKey }
}
