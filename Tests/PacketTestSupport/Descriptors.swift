import Glibc
package import LinuxSystem

/// Two ends that keep the borders of packets and never block.
package func packetPair() throws -> (SharedDescriptor, SharedDescriptor) {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    try check("socketpair") { unsafe socketpair(AF_UNIX, type, 0, &ends) }
    for end in ends {
        var size: Int32 = 8 << 20
        try check("setsockopt") { unsafe setsockopt(end, SOL_SOCKET, SO_SNDBUFFORCE, &size, 4) }
    }
    return (SharedDescriptor(OwnedDescriptor(adopting: ends[0])), SharedDescriptor(OwnedDescriptor(adopting: ends[1])))
}

/// All packets that wait, without waiting for more.
package func receiveAll(_ descriptor: Int32) -> [[UInt8]] {
    var result: [[UInt8]] = []
    var buffer = [UInt8](repeating: 0, count: 70000)
    while true {
        let length = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard length > 0 else { return result }
        result.append(Array(buffer.prefix(length)))
    }
}
