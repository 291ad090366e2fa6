import WireGuardCore

extension DeviceChange {
    /// Writes the change as the `set` operation that `DeviceOperation` reads, without the empty line at its end.
    package func write(to text: inout WipedBuffer) {
        text.append("set=1\n")
        if let privateKey { Self.write("private_key", privateKey, to: &text) }
        if let listenPort { text.append("listen_port=\(listenPort)\n") }
        if let mark { text.append("fwmark=\(mark)\n") }
        if replacePeers { text.append("replace_peers=true\n") }
        for peer in peers { peer.write(to: &text) }
    }

    fileprivate static func write(_ name: String, _ change: KeyChange, to text: inout WipedBuffer) {
        switch change {
        case .remove: text.appendLine(name, hexadecimalOf: SecretKey.zero)
        case .set(let key): text.appendLine(name, hexadecimalOf: key)
        }
    }
}

extension DeviceChange.Peer {
    fileprivate func write(to text: inout WipedBuffer) {
        text.appendLine("public_key", hexadecimalOf: publicKey)
        if remove { text.append("remove=true\n") }
        if updateOnly { text.append("update_only=true\n") }
        if let presharedKey { DeviceChange.write("preshared_key", presharedKey, to: &text) }
        if let endpoint { text.append("endpoint=\(endpoint)\n") }
        if let persistentKeepalive { text.append("persistent_keepalive_interval=\(persistentKeepalive)\n") }
        if replaceAllowedIPs { text.append("replace_allowed_ips=true\n") }
        for entry in allowedIPs { text.append("allowed_ip=\(entry.isRemoval ? "-" : "")\(entry.prefix)\n") }
    }
}
