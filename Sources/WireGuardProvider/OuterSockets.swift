import ControlAPI
import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO

/// The UDP sockets that tunneld has opened, marked and bound for the tunnel, one of each family that this machine has.
struct OuterSockets {
    let v4: SharedDescriptor?
    let v6: SharedDescriptor?
    let port: UInt16
    /// The mark on the sockets (SO_MARK, socket(7)).
    let mark: UInt32

    /// Takes the sockets out of what a call brought; nil where there are none.
    ///
    /// - Throws: where one of them is no bound UDP socket.
    init?(_ descriptors: [String: SharedDescriptor]) throws(SystemError) {
        v4 = descriptors[DescriptorLabel.udp4]
        v6 = descriptors[DescriptorLabel.udp6]
        var ports: [UInt16] = []
        var marks: [UInt32] = []
        for descriptor in [v4, v6].compactMap(\.self) {
            ports.append(try UDPSocket(adopting: descriptor).port)
            marks.append(try Self.mark(of: descriptor))
        }
        guard let port = ports.first else { return nil }
        self.port = port
        mark = marks[0]
    }

    private static func mark(of descriptor: SharedDescriptor) throws(SystemError) -> UInt32 {
        var mark: UInt32 = 0
        var size = socklen_t(MemoryLayout<UInt32>.size)
        let raw = descriptor.raw
        try check("getsockopt(SO_MARK)") { unsafe getsockopt(raw, SOL_SOCKET, SO_MARK, &mark, &size) }
        return mark
    }
}
