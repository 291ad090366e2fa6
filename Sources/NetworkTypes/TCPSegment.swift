/// A TCP connection, as the packets of one direction name it.
package struct TCPFlow: Equatable, Sendable {
    package let source: IPAddress
    package let destination: IPAddress
    package let sourcePort: UInt16
    package let destinationPort: UInt16

    package init(from source: IPAddress, port sourcePort: UInt16, to destination: IPAddress, port: UInt16) {
        self.source = source
        self.destination = destination
        self.sourcePort = sourcePort
        destinationPort = port
    }

    /// The same connection's other direction.
    package var reversed: TCPFlow {
        TCPFlow(from: destination, port: destinationPort, to: source, port: sourcePort)
    }
}

/// What one that watches a TCP connection pass reads of a packet.
///
/// Source: RFC 9293, section 3.1.
package struct TCPSegment: Equatable, Sendable {
    package let flow: TCPFlow
    package let sequence: UInt32
    /// What the sender has received; nil where it doesn't say.
    package let acknowledgement: UInt32?
    /// Bytes of both headers, and behind them.
    package let headerLength: Int
    package let payloadLength: Int
    /// Whether its payload may travel in several packets: not that of SYN, RST and URG.
    package let isDivisible: Bool

    package init(
        flow: TCPFlow,
        sequence: UInt32,
        acknowledgement: UInt32? = nil,
        headerLength: Int = 40,
        payloadLength: Int,
        isDivisible: Bool = true
    ) {
        self.flow = flow
        self.sequence = sequence
        self.acknowledgement = acknowledgement
        self.headerLength = headerLength
        self.payloadLength = payloadLength
        self.isDivisible = isDivisible
    }

    /// Reads a packet of `length` bytes that `header` was read from; it may be a super-packet.
    ///
    /// - Returns: nil for a fragment, for what isn't TCP, and where lengths contradict each other.
    package init?(parsing packet: UnsafeRawPointer, length: Int, _ header: IPHeader) {
        guard header.transport == 6, !header.isFragment, length >= header.length + 20 else { return nil }
        let start = unsafe packet + header.length
        let own = Int(unsafe start.load(fromByteOffset: 12, as: UInt8.self) >> 4) * 4
        guard own >= 20, length >= header.length + own else { return nil }
        flow = TCPFlow(
            from: header.source,
            port: UInt16(bigEndian: unsafe start.loadUnaligned(as: UInt16.self)),
            to: header.destination,
            port: UInt16(bigEndian: unsafe start.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        )
        sequence = UInt32(bigEndian: unsafe start.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        let flags = unsafe start.load(fromByteOffset: 13, as: UInt8.self)
        let isAcknowledging = flags & 0x10 != 0
        acknowledgement =
            isAcknowledging ? UInt32(bigEndian: unsafe start.loadUnaligned(fromByteOffset: 8, as: UInt32.self)) : nil
        headerLength = header.length + own
        payloadLength = length - headerLength
        isDivisible = flags & 0x26 == 0
    }
}
