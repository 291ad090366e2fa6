import NetworkTypes
import WireGuardCore
import WireGuardProvider

/// Reads bytes as the device socket does.
///
/// However they are cut, the same operations and faults come out; what was read is within the limits, and is read again
/// as it is written.
func checkDeviceOperations(_ bytes: [UInt8]) {
    let whole = outcomes(of: bytes, size: max(bytes.count, 1))
    precondition(outcomes(of: bytes, size: 1 + bytes.count % 5) == whole, "the pieces change the operations")
    for text in whole where text.hasPrefix("set=1\n") {
        precondition(outcomes(of: Array((text + "\n").utf8), size: text.utf8.count + 1) == [text], "it reads otherwise")
    }
}

/// Each operation as text, or its error.
private func outcomes(of bytes: [UInt8], size: Int) -> [String] {
    var reader = OperationReader()
    var outcomes: [String] = []
    var position = 0
    while position < bytes.count {
        let piece = bytes[position..<min(position + size, bytes.count)]
        var taken = 0
        unsafe reader.fill { room in
            taken = min(piece.count, room.count)
            for (index, byte) in piece.prefix(taken).enumerated() { unsafe room[index] = byte }
            return taken
        }
        position += taken
        while true {
            do throws(OperationError) {
                guard let operation = try reader.next(zone: { $0 == "eth0" ? 7 : nil }) else { break }
                outcomes.append(text(of: operation))
            } catch {
                outcomes.append(error.reply)
                if error == .tooLarge { return outcomes }
            }
        }
    }
    return outcomes
}

private func text(of operation: DeviceOperation) -> String {
    guard case .set(let change) = operation else { return "get=1\n" }
    precondition(change.peers.count <= DeviceOperation.maximumPeers)
    precondition(change.peers.reduce(0) { $0 + $1.allowedIPs.count } <= DeviceOperation.maximumAllowedIPs)
    var text = "set=1\n"
    if let key = change.privateKey { text += "private_key=\(digits(of: key))\n" }
    if let port = change.listenPort { text += "listen_port=\(port)\n" }
    if let mark = change.mark { text += "fwmark=\(mark)\n" }
    if change.replacePeers { text += "replace_peers=true\n" }
    for peer in change.peers {
        text += "public_key=\(peer.publicKey.bytes.map(digits).joined())\n"
        if peer.remove { text += "remove=true\n" }
        if peer.updateOnly { text += "update_only=true\n" }
        if let key = peer.presharedKey { text += "preshared_key=\(digits(of: key))\n" }
        if let endpoint = peer.endpoint { text += "endpoint=\(endpoint)\n" }
        if let seconds = peer.persistentKeepalive { text += "persistent_keepalive_interval=\(seconds)\n" }
        if peer.replaceAllowedIPs { text += "replace_allowed_ips=true\n" }
        for allowed in peer.allowedIPs {
            precondition(allowed.prefix.isNetwork)
            text += "allowed_ip=\(allowed.isRemoval ? "-" : "")\(allowed.prefix)\n"
        }
    }
    return text
}

private func digits(of change: DeviceChange.KeyChange) -> String {
    switch change {
    case .remove: String(repeating: "0", count: 64)
    case .set(let key): unsafe key.bytes.withUnsafeBytes { unsafe $0.map(digits).joined() }
    }
}

private func digits(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
