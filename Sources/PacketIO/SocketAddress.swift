package import CShims
import Glibc
package import NetworkTypes

/// An endpoint as the packet path keeps it: flat, compared in three words.
package typealias SocketAddress = shim_endpoint

extension SocketAddress {
    package init(_ endpoint: Endpoint) {
        self.init()
        port = endpoint.port
        switch endpoint.address {
        case .v4(let address):
            family = UInt16(AF_INET)
            low = UInt64(address.value)
        case .v6(let address):
            family = UInt16(AF_INET6)
            high = address.high
            low = address.low
            zone = endpoint.zone
        }
    }

    /// The endpoint; nil where there is no address.
    package var endpoint: Endpoint? {
        switch Int32(family) {
        case AF_INET: Endpoint(.v4(IPv4Address(UInt32(truncatingIfNeeded: low))), port: port)
        case AF_INET6: Endpoint(.v6(IPv6Address(high: high, low: low)), port: port, zone: zone)
        default: nil
        }
    }

    /// No address.
    package static var none: SocketAddress { SocketAddress() }

    package var isNone: Bool { family == 0 }

    /// Whether address and port are these; the zone is left out of account.
    package func isSame(as address: IPAddress, port: UInt16) -> Bool {
        self.port == port && endpoint?.address == address
    }

    package var isIPv6: Bool { Int32(family) == AF_INET6 }

    package func equals(_ other: SocketAddress) -> Bool {
        low == other.low && high == other.high && port == other.port && family == other.family && zone == other.zone
    }
}
