import Glibc
import HostNetwork
import LinuxSystem
import PacketIO
import PacketTestSupport
import Testing
import TestSupport

/// Needs root: each test makes its devices in a network namespace of its own.
@Suite struct TunDeviceTests {
    @Test func `a device made for a user is attached to, and goes with its last descriptor`() throws {
        try inNamespace {
            try TunCreation.create(name: "tun7", owner: getuid())
            let device = try TunDevice.attach("tun7", through: TunCreation.open())
            #expect(device.name == "tun7" && device.headerLength == VirtioHeader.size)
            #expect(device.offloads.isSuperset(of: [.checksum, .tcp]))
            let error = #expect(throws: SystemError.self) { try TunDevice.attach("tun7", through: nil) }
            #expect(error?.code == EBUSY)
            try TunCreation.setPersistent(false, on: device.descriptor.duplicate())
            try OwnThread.run("ip link show tun7 >/dev/null")
            _ = consume device
            #expect(throws: OwnThread.Failure.self) { try OwnThread.run("ip link show tun7 >/dev/null 2>&1") }
        }
    }

    @Test func `a name that is taken is not taken over`() throws {
        try inNamespace {
            try TunCreation.create(name: "tun7", owner: 4_000_001)
            let error = #expect(throws: SystemError.self) { try TunCreation.create(name: "tun7", owner: 0) }
            #expect(error?.code == EBUSY)
        }
    }

    @Test(arguments: ["", "tun%d", "a/b", "a b", ".", "sixteen-letters-"])
    func `a name that no interface may have is refused`(name: String) throws {
        try inNamespace {
            #expect(throws: SystemError.self) { try TunCreation.create(name: name, owner: 0) }
        }
    }

    @Test func `an attached descriptor is adopted with all that it is`() throws {
        try inNamespace {
            let first = try attachedDevice()
            let second = try TunDevice(adopting: SharedDescriptor(first.descriptor.duplicate()))
            #expect(second.name == "tun7" && second.headerLength == first.headerLength)
            #expect(second.offloads == first.offloads)
        }
    }

    @Test func `offloads are given up and taken again while the device runs`() throws {
        try inNamespace {
            let device = try attachedDevice()
            let all = device.offloads
            device.negotiate([])
            #expect(device.offloads == [])
            #expect(try TunDevice(adopting: SharedDescriptor(device.descriptor.duplicate())).offloads == all)
            device.negotiate([])
            device.negotiate([.checksum, .tcp])
            #expect(device.offloads == [.checksum, .tcp])
            device.negotiate([.checksum, .tcp, .udp])
            #expect(device.offloads == all)
        }
    }

    @Test func `a descriptor that is no TUN device is refused`() throws {
        let error = #expect(throws: SystemError.self) {
            _ = try TunDevice(adopting: SharedDescriptor(OwnedDescriptor(adopting: dup(0))))
        }
        #expect(error != nil)
    }

    @Test func `an interface that is down or deleted is told from one that has nothing`() throws {
        try inNamespace {
            let device = try attachedDevice()
            let writer = TunWriter(device)
            #expect(read(device) == .empty)
            deliver(TestPacket(payload: [1]).bytes, to: writer)
            #expect(writer.counters.dropped == 1)
            try OwnThread.run("ip link set tun7 up && ip addr add 10.0.0.2/24 dev tun7")
            deliver(TestPacket(payload: [1]).bytes, to: writer)
            deliver([0x00, 1, 2, 3], to: writer)
            #expect(writer.counters.packets == 1 && writer.counters.dropped == 1 && writer.counters.refused == 1)
            try OwnThread.run("ip link del tun7")
            #expect(read(device) == .deleted)
        }
    }

    @Test func `the kernel takes merged TCP and UDP, and hands over super-packets that are cut right`() throws {
        try inNamespace {
            let device = try attachedDevice()
            let writer = TunWriter(device)
            // The kernel routes what we write from one network back to us into the other.
            try OwnThread.run(
                """
                ip link set tun7 up mtu 1400 && ip addr add 10.0.0.200/24 dev tun7 && ip -6 addr add fd00::c8/64 dev tun7 &&
                sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 \
                net.ipv4.conf.tun7.rp_filter=0 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.tun7.send_redirects=0
                """
            )
            while case .moved = read(device) {}  // the router solicitations of the interface's start
            for isIPv6 in [false, true] {
                for isTCP in [true, false] where isTCP || device.offloads.contains(.udp) {
                    let whole = TestPacket(
                        isIPv6: isIPv6,
                        isTCP: isTCP,
                        hopLimit: 9,
                        payload: (0..<3000).map { UInt8($0 & 0xff) }
                    )
                    let packets = whole.segments(of: 1000)
                    let before = writer.counters.packets
                    packets.forEach { unsafe $0.bytes.withUnsafe { unsafe writer.deliver($0, length: $1) } }
                    writer.flush()
                    #expect(writer.counters.packets == before + 3 && !writer.gaveUpMerging)
                    let forwarded = packets.map { packet in
                        var packet = packet
                        packet.hopLimit -= 1
                        return packet.bytes
                    }
                    #expect(readPackets(device, count: 3) == forwarded)
                }
            }
        }
    }
}

private func inNamespace(_ body: @escaping () throws -> Void) throws {
    try onOwnThread {
        try OwnThread.unshareNetwork()
        try body()
    }
}

private func attachedDevice() throws -> TunDevice {
    try TunCreation.create(name: "tun7", owner: getuid())
    return try TunDevice.attach("tun7", through: nil)
}

private func read(_ device: TunDevice) -> TunDevice.Outcome {
    var buffer = [UInt8](repeating: 0, count: TunDevice.longestRead)
    return unsafe buffer.withUnsafeMutableBytes { unsafe device.read(into: $0) }
}

/// Reads until there are so many packets of ours (hop limit 8), cut from what the device gives.
private func readPackets(_ device: TunDevice, count: Int) -> [[UInt8]] {
    var buffer = [UInt8](repeating: 0, count: TunDevice.longestRead)
    var result: [[UInt8]] = []
    while result.count < count, waitUntilReady(device.descriptor.raw) {
        let outcome = unsafe buffer.withUnsafeMutableBytes { unsafe device.read(into: $0) }
        guard case .moved(let length) = outcome else { continue }
        result += (cut(Array(buffer.prefix(length))) ?? []).filter { ($0[0] >> 4 == 4 ? $0[8] : $0[7]) == 8 }
    }
    return result
}

private func deliver(_ packet: [UInt8], to writer: TunWriter) {
    unsafe packet.withUnsafe {
        unsafe writer.deliver($0, length: $1)
        writer.flush()
    }
}

extension [UInt8] {
    /// Lends the bytes with the headroom before them; the memory stays until the process ends, as a held packet needs.
    fileprivate func withUnsafe(_ body: (UnsafeMutableRawPointer, Int) -> Void) {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: Coalescer.headroom + count, alignment: 8)
        unsafe (memory + Coalescer.headroom).copyMemory(from: self, byteCount: count)
        unsafe body(memory + Coalescer.headroom, count)
    }
}
