import PacketIO
import WireGuardConfig

extension LoopAbilities {
    /// What the kernel doesn't do for us, in words for an operator; packets go through all the same, one by one.
    ///
    /// What was switched off by hand doesn't count.
    var missing: [String] {
        var missing: [String] = []
        if !disabled.contains(.tunSegmentation) {
            if !device.contains(.tcp) { missing.append("TCP segmentation of the TUN device") }
            if !device.contains(.udp) { missing.append("UDP segmentation of the TUN device (Linux 6.2)") }
        }
        if !merging, !disabled.contains(.tunCoalescing) { missing.append("super-packets into the TUN device") }
        for sockets in [v4, v6].compactMap(\.self) {
            if !sockets.contains(.groups), !disabled.contains(.udpSegmentation) {
                missing.append("UDP_SEGMENT (Linux 4.18)")
            }
            if !sockets.contains(.trains), !disabled.contains(.udpCoalescing) { missing.append("UDP_GRO (Linux 5.0)") }
            if !sockets.isSuperset(of: [.sendBatches, .receiveBatches]), !disabled.contains(.batches) {
                missing.append("sendmmsg and recvmmsg")
            }
        }
        return Array(Set(missing)).sorted()
    }

    /// What was switched off by hand, for an operator; nil for nothing.
    var disabledNote: String? {
        guard !disabled.isEmpty else { return nil }
        return "Switched off by disabledOffloads: \(disabled.map(\.rawValue).sorted().joined(separator: ", "))."
    }
}
