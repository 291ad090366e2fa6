package import NetworkTypes
package import WireGuardCore

/// One `set` operation of the cross-platform userspace protocol, read whole and checked, in the order of its lines.
///
/// Source: https://www.wireguard.com/xplatform/
package struct DeviceChange: Sendable {
    package var privateKey: KeyChange?
    /// 0 for any port.
    package var listenPort: UInt16?
    /// 0 for none.
    package var mark: UInt32?
    /// All peers go before those of this change come.
    package var replacePeers = false
    /// A key may stand more than once; its sections are applied one after the other.
    package var peers: [Peer] = []

    package init() {}

    package var isEmpty: Bool {
        privateKey == nil && listenPort == nil && mark == nil && !replacePeers && peers.isEmpty
    }

    /// A key of all zeros takes the key away.
    package enum KeyChange: Sendable {
        case remove
        case set(SecretKey)
    }

    package struct Peer: Sendable {
        package let publicKey: PublicKey
        package var remove = false
        /// Only a peer that exists is changed.
        package var updateOnly = false
        package var presharedKey: KeyChange?
        package var endpoint: Endpoint?
        /// Seconds; 0 for none.
        package var persistentKeepalive: UInt16?
        package var replaceAllowedIPs = false
        package var allowedIPs: [AllowedIP] = []

        package init(publicKey: PublicKey) { self.publicKey = publicKey }
    }

    package struct AllowedIP: Equatable, Sendable {
        /// Without host bits.
        package let prefix: IPPrefix
        /// "-10.0.0.0/8": taken from the peer, if it has it.
        package let isRemoval: Bool

        package init(_ prefix: IPPrefix, isRemoval: Bool = false) {
            self.prefix = prefix
            self.isRemoval = isRemoval
        }
    }
}
