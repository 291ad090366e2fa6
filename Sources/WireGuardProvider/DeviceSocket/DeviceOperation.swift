/// An operation of the userspace protocol.
package enum DeviceOperation: Sendable {
    case get
    case set(DeviceChange)

    /// What one operation may have; `wg setconf` of 2,000 peers with ten allowed IPs each stays below it.
    package static let maximumBytes = 2 << 20
    package static let maximumPeers = 4096
    package static let maximumAllowedIPs = 65536

    /// Reads an operation: its lines, without the empty line that ends it.
    ///
    /// - Parameters:
    ///   - maximumPeers: how many sections it may have.
    ///   - zone: the index of the interface with this name, for a link-local endpoint.
    /// - Throws: what to answer; nothing of the operation is to be applied then.
    package init(
        parsing bytes: RawSpan,
        maximumPeers: Int = maximumPeers,
        zone: (String) -> UInt32?
    ) throws(OperationError) {
        var lines = DeviceLines(bytes)
        guard let first = try lines.next() else { throw .malformed }
        switch (first.key, lines.text(first.value)) {
        case ("get", "1"):
            guard try lines.next() == nil else { throw .malformed }
            self = .get
        case ("set", "1"):
            var parser = DeviceChangeParser(maximumPeers: maximumPeers)
            while let line = try lines.next() { try parser.read(line, in: lines, zone: zone) }
            self = .set(parser.change)
        default: throw .malformed
        }
    }
}
