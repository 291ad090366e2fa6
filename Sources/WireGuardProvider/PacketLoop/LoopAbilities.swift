package import PacketIO
package import WireGuardConfig

/// Which of the kernel's offloads the packet loop works with.
package struct LoopAbilities: Sendable, Equatable {
    /// What the TUN device leaves to us; `tcp`: super-packets come in.
    package internal(set) var device: TunDevice.Offloads = []
    /// Whether packets are merged on their way to the device.
    package internal(set) var merging = false
    /// nil without a socket of this family.
    package internal(set) var v4: UDPSocket.Abilities?
    package internal(set) var v6: UDPSocket.Abilities?
    /// The library that encrypts (`CipherEngine.name`).
    package internal(set) var cipher = ""
    /// What was switched off by hand.
    package internal(set) var disabled: Set<Offload> = []
}
