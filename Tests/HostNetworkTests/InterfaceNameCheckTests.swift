import Glibc
import LinuxSystem
import Netlink
import Testing

@testable import HostNetwork

@Suite struct InterfaceNameCheckTests {
    @Test(arguments: ["", ".", "..", "a/b", "a b", "a:b", "wg%d", "0123456789abcdef", "w\u{e9}"])
    func `a name that the kernel refuses is malformed`(name: String) {
        #expect(!InterfaceNameCheck.isWellFormed(name))
    }

    @Test func `a name of 15 bytes is the longest`() {
        #expect(InterfaceNameCheck.isWellFormed("0123456789abcde"))
    }

    @Test func `an existing link and an answering socket take a name, a dead socket doesn't`() throws {
        let folder = "/tmp/network-names-\(getpid())"
        try check("mkdir") { unsafe mkdir(folder, 0o700) }
        defer {
            unsafe unlink("\(folder)/live.sock")
            unsafe unlink("\(folder)/dead.sock")
            unsafe rmdir(folder)
        }
        let tables = KernelTables(socket: try RouteSocket())
        #expect(try InterfaceNameCheck.problem(with: "lo", tables, folder: folder) == .linkExists)
        #expect(try InterfaceNameCheck.problem(with: "tnetfree", tables, folder: folder) == nil)

        let live = try listener("\(folder)/live.sock")
        _ = try listener("\(folder)/dead.sock")
        #expect(
            try InterfaceNameCheck.problem(with: "live", tables, folder: folder)
                == .socketAnswers("\(folder)/live.sock")
        )
        #expect(try InterfaceNameCheck.problem(with: "dead", tables, folder: folder) == nil)
        _ = live
    }

    private func listener(_ path: String) throws -> SharedDescriptor {
        let descriptor = OwnedDescriptor(
            adopting: try check("socket") { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }
        )
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
        let raw = descriptor.raw
        try check("bind") {
            unsafe withUnsafePointer(to: &name) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe bind(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        try check("listen") { listen(raw, 1) }
        return SharedDescriptor(descriptor)
    }
}
