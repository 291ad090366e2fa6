import PacketIO
import Testing
import WireGuardConfig

@testable import WireGuardProvider

struct LoopAbilitiesTests {
    @Test func `nothing is missing where the kernel does it all`() {
        let sockets: UDPSocket.Abilities = [.groups, .trains, .sendBatches, .receiveBatches]
        let all = LoopAbilities(device: [.checksum, .tcp, .udp], merging: true, v4: sockets, v6: sockets)
        #expect(all.missing == [])
    }

    @Test func `what is missing is named once, with the kernel that has it`() {
        let old = LoopAbilities(device: [.checksum, .tcp], merging: true, v4: [.groups], v6: [.groups])
        #expect(
            old.missing == [
                "UDP segmentation of the TUN device (Linux 6.2)", "UDP_GRO (Linux 5.0)", "sendmmsg and recvmmsg",
            ]
        )
        let plain = LoopAbilities(device: [.tcp, .udp], merging: false, v4: nil, v6: nil)
        #expect(plain.missing == ["super-packets into the TUN device"])
    }

    @Test func `what was switched off by hand isn't missing`() {
        var off = LoopAbilities(device: [], merging: false, v4: [], v6: [])
        #expect(off.missing.count == 6 && off.disabledNote == nil)
        off.disabled = Set(Offload.allCases)
        #expect(off.missing == [])
        #expect(
            off.disabledNote == "Switched off by disabledOffloads: batches, intel-ipsec-mb, tun-coalescing, "
                + "tun-segmentation, udp-coalescing, udp-segmentation."
        )
    }
}
