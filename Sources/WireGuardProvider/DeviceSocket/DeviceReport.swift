package import NetworkTypes
package import WireGuardCore

/// What `get` of the userspace protocol tells of a device.
package struct DeviceReport: Sendable {
    package var privateKey: SecretKey?
    package var listenPort: UInt16 = 0
    package var mark: UInt32 = 0
    package var peers: [Peer] = []

    package init() {}

    package struct Peer: Sendable {
        package var publicKey: PublicKey
        package var presharedKey: SecretKey?
        package var endpoint: Endpoint?
        /// Of the wall clock, in nanoseconds since 1970; 0 for never.
        package var latestHandshake: UInt64
        package var receivedBytes: UInt64
        package var sentBytes: UInt64
        package var persistentKeepalive: UInt16
        package var allowedIPs: [IPPrefix]

        package init(
            publicKey: PublicKey,
            presharedKey: SecretKey? = nil,
            endpoint: Endpoint? = nil,
            latestHandshake: UInt64 = 0,
            receivedBytes: UInt64 = 0,
            sentBytes: UInt64 = 0,
            persistentKeepalive: UInt16 = 0,
            allowedIPs: [IPPrefix] = []
        ) {
            self.publicKey = publicKey
            self.presharedKey = presharedKey
            self.endpoint = endpoint
            self.latestHandshake = latestHandshake
            self.receivedBytes = receivedBytes
            self.sentBytes = sentBytes
            self.persistentKeepalive = persistentKeepalive
            self.allowedIPs = allowedIPs
        }
    }

    /// The reply to `get`, with its "errno=0" and the empty line.
    ///
    /// - Parameter includesSecrets: for user id 0 alone; else the private and pre-shared keys are left out.
    package func write(to reply: inout WipedBuffer, includesSecrets: Bool) {
        if includesSecrets, let privateKey { reply.appendLine("private_key", hexadecimalOf: privateKey) }
        reply.append("listen_port=\(listenPort)\n")
        if mark != 0 { reply.append("fwmark=\(mark)\n") }
        for peer in peers {
            reply.appendLine("public_key", hexadecimalOf: peer.publicKey)
            if includesSecrets, let key = peer.presharedKey {
                reply.appendLine("preshared_key", hexadecimalOf: key)
            }
            reply.append("protocol_version=1\n")
            if let endpoint = peer.endpoint { reply.append("endpoint=\(endpoint)\n") }
            reply.append("last_handshake_time_sec=\(peer.latestHandshake / 1_000_000_000)\n")
            reply.append("last_handshake_time_nsec=\(peer.latestHandshake % 1_000_000_000)\n")
            reply.append("tx_bytes=\(peer.sentBytes)\nrx_bytes=\(peer.receivedBytes)\n")
            reply.append("persistent_keepalive_interval=\(peer.persistentKeepalive)\n")
            for prefix in peer.allowedIPs { reply.append("allowed_ip=\(prefix)\n") }
        }
        reply.append("errno=0\n\n")
    }
}
