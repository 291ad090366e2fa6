import PacketIO

extension LoopAbilities {
    /// What the kernel doesn't do for us, in words for an operator; packets go through all the same, one by one.
    var missing: [String] {
        var missing: [String] = []
        if !device.contains(.tcp) { missing.append("TCP segmentation of the TUN device") }
        if !device.contains(.udp) { missing.append("UDP segmentation of the TUN device (Linux 6.2)") }
        for sockets in [v4, v6].compactMap(\.self) {
            if !sockets.contains(.groups) { missing.append("UDP_SEGMENT (Linux 4.18)") }
            if !sockets.contains(.trains) { missing.append("UDP_GRO (Linux 5.0)") }
        }
        return Array(Set(missing)).sorted()
    }
}
