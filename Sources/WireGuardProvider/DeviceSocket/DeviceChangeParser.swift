import NetworkTypes
import WireGuardCore

/// Reads the lines of a `set`: those of the device first, then a section for each "public_key".
struct DeviceChangeParser {
    private(set) var change = DeviceChange()
    private let maximumPeers: Int
    private var allowedIPs = 0

    init(maximumPeers: Int) { self.maximumPeers = maximumPeers }

    mutating func read(
        _ line: DeviceLines.Line,
        in lines: borrowing DeviceLines,
        zone: (String) -> UInt32?
    ) throws(OperationError) {
        if line.key == "public_key" {
            guard change.peers.count < maximumPeers else { throw .tooLarge }
            guard let key = lines.publicKey(line.value) else { throw .invalid }
            change.peers.append(DeviceChange.Peer(publicKey: key))
        } else if change.peers.isEmpty {
            try readDeviceLine(line, in: lines)
        } else {
            try readPeerLine(line, in: lines, zone: zone)
        }
    }

    private mutating func readDeviceLine(
        _ line: DeviceLines.Line,
        in lines: borrowing DeviceLines
    ) throws(OperationError) {
        switch line.key {
        case "private_key": change.privateKey = try keyChange(line, in: lines)
        case "listen_port": change.listenPort = try number(line, in: lines)
        case "fwmark": change.mark = try number(line, in: lines)
        case "replace_peers":
            try isTrue(line, in: lines)
            change.replacePeers = true
        default: throw .invalid
        }
    }

    private mutating func readPeerLine(
        _ line: DeviceLines.Line,
        in lines: borrowing DeviceLines,
        zone: (String) -> UInt32?
    ) throws(OperationError) {
        let peer = change.peers.count - 1
        switch line.key {
        case "remove":
            try isTrue(line, in: lines)
            change.peers[peer].remove = true
        case "update_only":
            try isTrue(line, in: lines)
            change.peers[peer].updateOnly = true
        case "preshared_key": change.peers[peer].presharedKey = try keyChange(line, in: lines)
        case "endpoint":
            // `wg` writes the zone of a link-local address as the interface's name.
            guard let endpoint = Endpoint(lines.text(line.value), zone: zone) else { throw .invalid }
            change.peers[peer].endpoint = endpoint
        case "persistent_keepalive_interval": change.peers[peer].persistentKeepalive = try number(line, in: lines)
        case "replace_allowed_ips":
            try isTrue(line, in: lines)
            change.peers[peer].replaceAllowedIPs = true
            // What the same section named before would go as well.
            change.peers[peer].allowedIPs = []
        case "allowed_ip":
            allowedIPs += 1
            guard allowedIPs <= DeviceOperation.maximumAllowedIPs else { throw .tooLarge }
            change.peers[peer].allowedIPs.append(try allowedIP(lines.text(line.value)))
        case "protocol_version":
            guard lines.text(line.value) == "1" else { throw .invalid }
        default: throw .invalid
        }
    }

    private func keyChange(
        _ line: DeviceLines.Line,
        in lines: borrowing DeviceLines
    ) throws(OperationError) -> DeviceChange.KeyChange {
        guard let key = lines.key(line.value) else { throw .invalid }
        return key.isZero ? .remove : .set(key)
    }

    private func number<T: FixedWidthInteger>(
        _ line: DeviceLines.Line,
        in lines: borrowing DeviceLines
    ) throws(OperationError) -> T {
        guard let value = T(decimal: lines.text(line.value)) else { throw .invalid }
        return value
    }

    private func isTrue(_ line: DeviceLines.Line, in lines: borrowing DeviceLines) throws(OperationError) {
        guard lines.text(line.value) == "true" else { throw .invalid }
    }

    private func allowedIP(_ text: String) throws(OperationError) -> DeviceChange.AllowedIP {
        let isRemoval = text.utf8.first == UInt8(ascii: "-")
        guard let prefix = IPPrefix(isRemoval ? String(text.dropFirst()) : text) else { throw .invalid }
        return DeviceChange.AllowedIP(prefix.network, isRemoval: isRemoval)
    }
}
