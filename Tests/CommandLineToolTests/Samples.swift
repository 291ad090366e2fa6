import ControlAPI

/// States and configurations as a tunneld would tell them.
enum Samples {
    static let now = Timestamp(milliseconds: 1_769_904_000_000)  // 2026-02-01T00:00:00Z
    static let home = "11111111-0000-4000-8000-000000000001"
    static let office = "22222222-0000-4000-8000-000000000002"
    static let newIdentifier = "99999999-0000-4000-8000-000000000009"
    static let peerKey = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg="

    static func before(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: now.milliseconds - seconds * 1000) }

    static func down(_ identifier: String = home, _ name: String = "home") -> SessionView {
        SessionView(identifier: identifier, name: name, status: .disconnected, readAt: now)
    }

    static func connecting(_ stage: StartStage = .handshakeSent, session: String = "s1") -> SessionView {
        var view = down()
        view.status = .connecting
        view.since = before(2)
        view.session = session
        view.stage = stage
        view.interface = "tun-home"
        view.peers = [peer(answered: false)]
        return view
    }

    static func connected(_ identifier: String = home, _ name: String = "home", session: String = "s1") -> SessionView {
        var view = down(identifier, name)
        view.status = .connected
        view.since = before(754)
        view.session = session
        view.stage = .answered
        view.generation = 3
        view.interface = "tun-\(name)"
        view.providerProcess = 4711
        view.mtu = 1420
        view.addresses = ["10.20.0.1/24", "fd20::1/64"]
        view.routes = ["10.20.0.0/24", "fd20::/64"]
        view.publicKey = "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw="
        view.listenPort = 51820
        view.dns = DNSView(
            servers: ["10.20.0.2"],
            searchDomains: ["corp.test"],
            routeOnlyDomains: [],
            note: "DNS not applied: the tunnel's name servers can't be put in force."
        )
        view.peers = [peer(answered: true)]
        view.counters = CountersView(
            receivedBytes: 1_300_000,
            sentBytes: 2048,
            receivedPackets: 1234,
            sentPackets: 22,
            receivedDropped: 0,
            sentDropped: 3,
            since: before(754)
        )
        return view
    }

    static func peer(answered: Bool) -> PeerView {
        PeerView(
            publicKey: peerKey,
            endpoint: "192.0.2.1:51820",
            configuredEndpoint: "vpn.example.org:51820",
            state: answered ? .alive : .handshaking,
            latestHandshake: answered ? before(62) : nil,
            lastHeard: answered ? before(3) : nil,
            verification: answered ? .live : .expired,
            receivedBytes: answered ? 1_400_000 : 0,
            sentBytes: answered ? 4096 : 296,
            allowedIPs: ["10.20.0.0/24", "fd20::/64"],
            persistentKeepalive: 25,
            hasPresharedKey: true,
            attempts: answered ? 0 : 2,
            failure: nil
        )
    }

    static let silent = FailureView(
        kind: .silent,
        message: "Nothing came back from 192.0.2.1:51820.",
        remedy: "The peer's key, our key there, the port, and filters on the way.",
        endpoint: "192.0.2.1:51820"
    )

    static func configuration(_ identifier: String = home, _ name: String = "home") -> Configuration {
        var configuration = Configuration(
            name: name,
            owner: .init(user: 0),
            provider: .init(
                identifier: "org.tunneld.wireguard",
                configuration: [
                    "privateKeyReference": "item-private", "addresses": ["10.20.0.1/24"],
                    "hooks": [["event": "PostUp", "command": "touch /tmp/marker"]],
                    "peers": [
                        [
                            "publicKey": .string(peerKey), "presharedKeyReference": "item-shared",
                            "endpoint": "vpn.example.org:51820", "allowedIPs": ["10.20.0.0/24"],
                        ]
                    ],
                ]
            )
        )
        configuration.identifier = identifier
        configuration.generation = 7
        configuration.startAtBoot = true
        return configuration
    }
}
