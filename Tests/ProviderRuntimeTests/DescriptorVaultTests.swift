import ControlAPI
import Glibc
import LinuxSystem
import ProviderRuntime
import Testing

struct DescriptorVaultTests {
    @Test func `a call takes the descriptors that it names, once`() throws {
        var vault = DescriptorVault()
        let tun = try pipe()
        vault.keep(tun.written, label: "tun", from: 7)
        vault.keep(try pipe().written, label: "wg", from: 7)
        let claimed = try vault.claim(["tun"], from: 7)
        #expect(claimed.keys.sorted() == ["tun"])
        #expect(claimed["tun"]?.raw == tun.written.raw)
        #expect(throws: ControlError.self) { try vault.claim(["tun"], from: 7) }
        #expect(vault.count == 1)
    }

    @Test func `a missing label leaves the others where they are`() throws {
        var vault = DescriptorVault()
        vault.keep(try pipe().written, label: "udp4", from: 7)
        let error = #expect(throws: ControlError.self) { try vault.claim(["udp4", "udp6"], from: 7) }
        #expect(error?.name == .invalidParameter)
        #expect(error?.reason == "Nothing labelled \"udp6\" waits on the descriptor socket.")
        #expect(vault.count == 1)
    }

    @Test func `a label that stands twice in a call is refused`() throws {
        var vault = DescriptorVault()
        vault.keep(try pipe().written, label: "udp4", from: 7)
        let error = #expect(throws: ControlError.self) { try vault.claim(["udp4", "udp4"], from: 7) }
        #expect(error?.name == .invalidParameter)
        #expect(vault.count == 1)
    }

    @Test func `what another process sent is not handed over and goes with it`() throws {
        var vault = DescriptorVault()
        let (reader, _) = try keepWriter(in: &vault, label: "tun", from: 8)
        #expect(throws: ControlError.self) { try vault.claim(["tun"], from: 7) }
        vault.keepOnly(from: 7)
        #expect(vault.count == 0)
        #expect(isClosed(reader))
    }

    @Test func `a label that comes again closes the one before`() throws {
        var vault = DescriptorVault()
        let (reader, _) = try keepWriter(in: &vault, label: "tun", from: 7)
        vault.keep(try pipe().written, label: "tun", from: 7)
        #expect(isClosed(reader))
        #expect(vault.count == 1)
    }

    @Test func `beyond the limit new descriptors are closed`() throws {
        var vault = DescriptorVault()
        for index in 0..<DescriptorVault.limit { vault.keep(try pipe().written, label: "\(index)", from: 7) }
        let (reader, _) = try keepWriter(in: &vault, label: "one more", from: 7)
        #expect(vault.count == DescriptorVault.limit)
        #expect(isClosed(reader))
        vault.keep(try pipe().written, label: "0", from: 7)
        #expect(vault.count == DescriptorVault.limit)
    }

    /// Gives the vault the only writing end, so that the reading end tells when it is closed.
    private func keepWriter(
        in vault: inout DescriptorVault,
        label: String,
        from sender: Int32
    ) throws -> (reader: SharedDescriptor, label: String) {
        let pipe = try pipe()
        vault.keep(pipe.written, label: label, from: sender)
        return (pipe.read, label)
    }

    private func pipe() throws -> (read: SharedDescriptor, written: SharedDescriptor) {
        var ends: [Int32] = [0, 0]
        try check("pipe") { unsafe Glibc.pipe(&ends) }
        for end in ends { try check("fcntl") { fcntl(end, F_SETFL, O_NONBLOCK) } }
        return (
            SharedDescriptor(OwnedDescriptor(adopting: ends[0])), SharedDescriptor(OwnedDescriptor(adopting: ends[1]))
        )
    }

    /// The end of file comes when the last writing end is gone; before, there is nothing to read yet.
    private func isClosed(_ reader: SharedDescriptor) -> Bool {
        var byte: UInt8 = 0
        return unsafe read(reader.raw, &byte, 1) == 0
    }
}
