/// Parameters and replies of `org.tunneld.Provider`, which a provider serves on its own socket, to tunneld only.
///
/// Descriptors travel on a second, SEQPACKET socket beside it ("descriptors"): each packet is a `DescriptorLabel` with
/// one descriptor.
package enum ProviderCalls {
    package static let interface = "org.tunneld.Provider"
    /// The version of this protocol; a provider whose version differs is refused by name, never by a bare error.
    package static let version = 1

    package struct AttachParameters: Codable, Sendable {
        package var version: Int
        /// Raised by each tunneld that takes control: the provider obeys the highest it has seen, and closes the
        /// connections of lower ones.
        package var epoch: UInt64
        /// From the launch file: proves that this tunneld knows the launch.
        package var nonce: String
        package init(version: Int, epoch: UInt64, nonce: String) {
            self.version = version
            self.epoch = epoch
            self.nonce = nonce
        }
    }

    /// One reply of `Attach`; the first has the present state, later ones what changed or what is asked for.
    package struct AttachReply: Codable, Sendable {
        package var version: Int
        package var state: ProviderState?
        package var request: ProviderRequest?
        package init(version: Int, state: ProviderState?, request: ProviderRequest?) {
            self.version = version
            self.state = state
            self.request = request
        }
    }

    /// `Start`: the descriptors were sent before the call.
    package struct StartParameters: Codable, Sendable {
        package var identifier: String
        package var name: String
        package var session: String
        /// The TUN device's name.
        package var interface: String
        /// The object in the configuration's `provider.configuration`.
        package var configuration: JSONValue
        /// The last TAI64N timestamp that was sent for this key pair, 12 bytes in hexadecimal.
        package var lastTimestamp: String?
        /// The labels of the descriptors sent on the other socket, each exactly once.
        package var descriptors: [String]
        /// The UDP port of the outer sockets that were passed.
        package var listenPort: Int
        /// By public key: endpoints that were last authenticated ("192.0.2.1:51820"), to be called at once.
        package var endpointHints: [String: String]?
        /// By public key: what an earlier provider of the session counted at the same interface, to be counted on from.
        package var peerCounters: [String: PeerCounters]?
        package var options: [String: JSONValue]?
        /// What the network is known by that this machine is in (`PathChangedParameters.network`).
        package var network: String?
        package init(
            identifier: String,
            name: String,
            session: String,
            interface: String,
            configuration: JSONValue,
            lastTimestamp: String?,
            descriptors: [String],
            listenPort: Int,
            endpointHints: [String: String]?,
            peerCounters: [String: PeerCounters]?,
            options: [String: JSONValue]?,
            network: String? = nil
        ) {
            self.identifier = identifier
            self.name = name
            self.session = session
            self.interface = interface
            self.configuration = configuration
            self.lastTimestamp = lastTimestamp
            self.descriptors = descriptors
            self.listenPort = listenPort
            self.endpointHints = endpointHints
            self.peerCounters = peerCounters
            self.options = options
            self.network = network
        }
    }

    /// UDP payload to and from a peer, in bytes.
    package struct PeerCounters: Codable, Equatable, Sendable {
        package var receivedBytes: UInt64
        package var sentBytes: UInt64
        package init(receivedBytes: UInt64, sentBytes: UInt64) {
            self.receivedBytes = receivedBytes
            self.sentBytes = sentBytes
        }
    }

    /// What `Start` and `UpdateConfiguration` answer: the network settings that tunneld shall apply.
    package struct SettingsReply: Codable, Sendable {
        package var settings: NetworkSettingsDocument
        package init(settings: NetworkSettingsDocument) { self.settings = settings }
    }

    package struct UpdateParameters: Codable, Sendable {
        package var configuration: JSONValue
        package var descriptors: [String]
        package init(configuration: JSONValue, descriptors: [String]) {
            self.configuration = configuration
            self.descriptors = descriptors
        }
    }

    /// `SettingsApplied`: the tunnel is ready now.
    package struct SettingsAppliedParameters: Codable, Sendable {
        package var mtu: Int
        package init(mtu: Int) { self.mtu = mtu }
    }

    /// `PathChanged`: the network around the tunnel changed.
    package struct PathChangedParameters: Codable, Equatable, Sendable {
        /// Whether this machine has a way to any peer; nil: nobody looked.
        package var available: Bool?
        /// Whether the way may be another than before; nil: nobody looked.
        package var moved: Bool?
        /// What the network that this machine is in is known by, for what is remembered of it; nil where there is none.
        package var network: String?
        /// Why there is no way, in sentences; nil where no more is known than that there is none.
        package var obstacle: String?

        package init(
            available: Bool? = nil,
            moved: Bool? = nil,
            network: String? = nil,
            obstacle: String? = nil
        ) {
            self.available = available
            self.moved = moved
            self.network = network
            self.obstacle = obstacle
        }
    }

    /// `Supply`: what a `ProviderRequest` asked for, or why it can't be had.
    package struct SupplyParameters: Codable, Sendable {
        package var request: Int
        package var addresses: [String]?
        package var listenPort: Int?
        /// The labels of descriptors that were sent on the other socket.
        package var descriptors: [String]?
        package var error: ControlError?
        package init(
            request: Int,
            addresses: [String]? = nil,
            listenPort: Int? = nil,
            descriptors: [String]? = nil,
            error: ControlError? = nil
        ) {
            self.request = request
            self.addresses = addresses
            self.listenPort = listenPort
            self.descriptors = descriptors
            self.error = error
        }
    }

    package struct StatusReply: Codable, Sendable {
        package var state: ProviderState
        package init(state: ProviderState) { self.state = state }
    }

    package struct StopParameters: Codable, Sendable {
        /// Why, for the log: "stopped by a client".
        package var reason: String
        package init(reason: String) { self.reason = reason }
    }
}

/// Labels of the descriptors that travel on a provider's second socket.
package enum DescriptorLabel {
    /// An opened, unattached `/dev/net/tun`.
    package static let tunNode = "tun-node"
    /// The attached TUN device: from the provider after `Start` and on attaching; from tunneld to a new provider.
    package static let tun = "tun"
    package static let udp4 = "udp4"
    package static let udp6 = "udp6"
    /// The listening socket of the `wg` protocol.
    package static let wg = "wg"
    /// A memfd with a `SecretBundle`.
    package static let secrets = "secrets"
    /// A sealed memfd, readable for the provider alone: what was changed in the session beside its configuration, as by
    /// `wg set`.
    ///
    /// From the provider with each change and on attaching; from tunneld, which only holds it, to a new provider.
    package static let changes = "changes"
}

/// Something that a provider may not do itself and asks tunneld for; answered by `Supply`.
package struct ProviderRequest: Codable, Equatable, Sendable {
    package var number: Int
    package var kind: Kind
    /// `resolve`: the name to look up outside the tunnel.
    package var name: String?
    /// `sockets`: the UDP port wanted; 0 for any.
    package var port: Int?

    package enum Kind: String, Codable, Sendable {
        /// Look up a name outside the tunnel.
        case resolve
        /// New outer sockets, marked and bound to another port.
        case sockets
        /// A look at the path to the peers: a packet was too big for it.
        case path
    }

    package init(number: Int, kind: Kind, name: String? = nil, port: Int? = nil) {
        self.number = number
        self.kind = kind
        self.name = name
        self.port = port
    }
}

/// What a provider says of itself; tunneld tells it on, and asks anew when somebody asks it.
package struct ProviderState: Codable, Equatable, Sendable {
    package var phase: Phase
    /// `connecting`, `connected`, `reasserting`, `disconnecting` or `disconnected`.
    package var status: TunnelStatus
    package var stage: StartStage
    package var reason: String?
    package var failure: FailureView?
    package var session: String?
    package var interface: String?
    package var publicKey: String?
    package var listenPort: Int?
    package var peers: [PeerView]
    package var notes: [String]
    /// The longest outer packets, IP header included, that the paths to addresses were found to carry where nobody else says
    /// so; null for none.
    package var pathLimits: [String: Int]?
    /// The last TAI64N timestamp sent, 12 bytes in hexadecimal; tunneld keeps a durable copy.
    package var lastTimestamp: String?
    /// Why the provider can't go on; it ends after saying so.
    package var error: ControlError?

    package enum Phase: String, Codable, Sendable { case waiting, starting, ready, stopping, failed }

    package init(phase: Phase, status: TunnelStatus, stage: StartStage) {
        self.phase = phase
        self.status = status
        self.stage = stage
        peers = []
        notes = []
    }
}

/// The network settings of a tunnel, as its provider wants them.
package struct NetworkSettingsDocument: Codable, Equatable, Sendable {
    /// Addresses of the interface with the length of their network: "10.0.0.2/24".
    package var addresses: [String]
    /// Prefixes that go into the tunnel.
    package var routes: [String]
    /// Prefixes that don't, whatever tunnel would take them; null: none.
    package var excludedRoutes: [String]?
    /// "auto", "off" or a routing table's number or name.
    package var table: String
    /// Explicit; null: from the path to the endpoints.
    package var mtu: Int?
    /// Numeric endpoints that are known already, for the path's MTU: "192.0.2.1:51820".
    package var endpoints: [String]
    /// The longest outer packets that the paths to addresses were found to carry, where nobody else says so; null: none.
    package var pathLimits: [String: Int]?
    package var dns: DNSView?

    package init(addresses: [String], routes: [String], table: String, mtu: Int?, endpoints: [String], dns: DNSView?) {
        self.addresses = addresses
        self.routes = routes
        self.table = table
        self.mtu = mtu
        self.endpoints = endpoints
        self.dns = dns
    }
}
