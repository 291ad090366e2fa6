import FoundationEssentials
import Glibc
import LinuxSystem
import NetworkTypes
import Testing

@testable import HostNetwork

/// A resolv.conf in a folder of its own.
@Suite struct ResolvConfFileTests {
    private let folder: String
    private let file: ResolvConfFile

    init() throws {
        var template = Array("/tmp/resolv-conf-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError(errno, in: "mkdtemp") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        file = ResolvConfFile(path: folder + "/resolv.conf")
    }

    private func write(_ text: String) throws {
        let raw = unsafe open(file.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        let descriptor = OwnedDescriptor(adopting: try check("open") { raw })
        try AtomicFile.writeAll(unsafe Array(text.utf8).span.bytes, to: descriptor.raw)
    }

    private func read() throws -> String {
        String(decoding: try FileSystem.contents(ofFile: file.path, limit: 1 << 20), as: UTF8.self)
    }

    private func tunnel(
        _ number: UInt32,
        isFull: Bool = false,
        servers: [String]? = nil
    ) -> ResolvConfState.Tunnel {
        let settings = DNSSettings(
            servers: (servers ?? ["10.0.\(number).1"]).compactMap { IPAddress($0) },
            searchDomains: ["corp\(number).test"]
        )
        return ResolvConfState.Tunnel(
            InterfaceIdentity(index: number, name: "t\(number)"),
            LinkDNS(settings, isFullTunnel: isFull)
        )
    }

    private func servers() throws -> [String] { ResolvConf(try read()).servers }

    private func end() throws { try FolderRemoval.remove(folder) }

    @Test func `what stood there comes back, byte for byte`() throws {
        for text in ["", "nameserver 192.0.2.1", "# x\nsearch lan\nnameserver 192.0.2.1\noptions trust-ad edns0\n"] {
            try write(text)
            let before = try file.read()
            try file.insert(tunnel(1), beside: [])
            #expect(try servers().first == "10.0.1.1" && read() != text)
            // A second time changes nothing.
            let once = try file.read()
            try file.insert(tunnel(1), beside: [])
            #expect(try file.read() == once)
            #expect(try file.remove { $0.index == 1 })
            #expect(try file.read() == before)
            #expect(try !file.remove { $0.index == 1 })
        }
        try end()
    }

    @Test func `the last started is the first, and one that takes all names is the only one`() throws {
        try write("nameserver 192.0.2.1\nsearch lan\noptions trust-ad\noptions edns0\n")
        try file.insert(tunnel(1), beside: [])
        try file.insert(tunnel(2), beside: [tunnel(1)])
        #expect(try servers() == ["10.0.2.1", "10.0.1.1", "192.0.2.1"])
        #expect(try ResolvConf(read()).searchDomains == ["corp2.test", "corp1.test", "lan"])
        // That the former resolver is to be trusted says nothing of the tunnel's.
        #expect(try ResolvConf(read()).others == ["options edns0"])
        try file.insert(tunnel(3, isFull: true), beside: [tunnel(2), tunnel(1)])
        #expect(try servers() == ["10.0.3.1", "10.0.2.1", "10.0.1.1"])
        try file.insert(tunnel(2, servers: ["10.0.2.9"]), beside: [])
        #expect(try servers() == ["10.0.3.1", "10.0.2.9", "10.0.1.1"])
        try file.remove { $0.index == 3 }
        try file.remove { $0.index == 1 }
        #expect(try servers() == ["10.0.2.9", "192.0.2.1"])
        try end()
    }

    @Test func `a link is replaced and put back, and what it leads to is left alone`() throws {
        for target in ["other", folder + "/other", "/nowhere"] {
            _ = unsafe unlink(file.path)
            #expect(unsafe symlink(target, file.path) == 0)
            let other = ResolvConfFile(path: folder + "/other")
            try ResolvConfFileTests.write("nameserver 192.0.2.7\n", to: other.path)
            try file.insert(tunnel(1), beside: [])
            #expect(try servers() == ["10.0.1.1"] + (target == "/nowhere" ? [] : ["192.0.2.7"]))
            // Where the link leads may change meanwhile: that is no change of ours.
            try ResolvConfFileTests.write("nameserver 192.0.2.8\n", to: other.path)
            try file.remove { $0.index == 1 }
            #expect(try file.read() == .link(target: target))
            #expect(other.lines()?.servers == ["192.0.2.8"])
        }
        try end()
    }

    private static func write(_ text: String, to path: String) throws {
        try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644)
    }

    @Test func `where there was nothing there is nothing again`() throws {
        try file.insert(tunnel(1), beside: [])
        try file.remove { $0.index == 1 }
        #expect(try file.read() == .missing && FileSystem.names(inFolder: folder).isEmpty)
        try end()
    }

    @Test func `another's file is the new original, and stays where we are gone`() throws {
        try write("nameserver 192.0.2.1\n")
        try file.insert(tunnel(1), beside: [])
        try write("nameserver 192.0.2.2\n")
        // Nothing of ours is in it.
        #expect(try !file.remove { $0.index == 1 })
        #expect(try read() == "nameserver 192.0.2.2\n")
        try file.insert(tunnel(1), beside: [tunnel(2)])
        #expect(try servers() == ["10.0.1.1", "10.0.2.1", "192.0.2.2"])
        try file.remove { _ in true }
        #expect(try read() == "nameserver 192.0.2.2\n")
        try end()
    }

    @Test func `what somebody adds to a file of ours stays, where it was, with what stood there before`() throws {
        try write("nameserver 192.0.2.1")
        try file.insert(tunnel(1), beside: [])
        try write("nameserver 192.0.2.2\n" + (try read()) + "nameserver 192.0.2.3\noptions rotate\n")
        try file.insert(tunnel(2), beside: [])
        #expect(try servers() == ["10.0.2.1", "10.0.1.1", "192.0.2.2", "192.0.2.1", "192.0.2.3"])
        try file.remove { _ in true }
        #expect(try read() == "nameserver 192.0.2.2\nnameserver 192.0.2.1\nnameserver 192.0.2.3\noptions rotate\n")
        // Nothing of use is left of one that only lost something.
        try write("nameserver 192.0.2.1\n")
        try file.insert(tunnel(1), beside: [])
        try write(try read().replacing("nameserver 10.0.1.1\n", with: ""))
        try file.remove { _ in true }
        #expect(try read() == "nameserver 192.0.2.1\n")
        try end()
    }

    @Test(arguments: [false, true])
    func `a file of ours whose mark is gone or damaged is no original`(_ isDamaged: Bool) throws {
        try write("nameserver 192.0.2.1\noptions edns0\n")
        try file.insert(tunnel(1), beside: [])
        let lines = try read().split(separator: "\n").compactMap { line -> Substring? in
            guard line.hasPrefix("# tunneld: ") else { return line }
            return isDamaged ? line.prefix(40) : nil
        }
        try write(lines.joined(separator: "\n") + "\n")
        try file.insert(tunnel(1), beside: [])
        #expect(try servers() == ["10.0.1.1", "192.0.2.1"])
        try file.remove { _ in true }
        #expect(try read() == "nameserver 192.0.2.1\noptions edns0\n")
        try end()
    }

    @Test func `what can't be written is told before it is tried`() throws {
        #expect(file.obstacle() == nil)
        #expect(ResolvConfFile(path: folder + "/none/resolv.conf").obstacle()?.code == ENOENT)
        #expect(ResolvConfFile(path: "/proc/self/status").obstacle() != nil || geteuid() == 0)
        try write(String(repeating: "#", count: 70 << 10))
        #expect(file.obstacle()?.code == EFBIG)
        try end()
    }

    @Test func `lines that are no lines of a resolv.conf do no harm`() {
        let lines = ResolvConf("nameserver\n;nameserver 1.1.1.1\n# x\n\tnameserver\t192.0.2.1 x\ndomain a b\nsearch\n")
        #expect(lines.servers == ["192.0.2.1"] && lines.searchDomains.isEmpty && lines.others.isEmpty)
        #expect(
            ResolvConfState(reading: .file(.init(data: .init("# tunneld: {}\n".utf8), mode: 0, user: 0, group: 0)))
                == nil
        )
    }
}

@Suite struct ProgramRunTests {
    @Test func `a program is run with its input, without ours, and for so long only`() throws {
        try ProgramRun.run("/bin/sh", ["-c", "[ \"$(cat)\" = hello ]"], input: "hello\n", milliseconds: 5000)
        let failed = #expect(throws: ProgramRun.Failure.self) {
            try ProgramRun.run("/bin/sh", ["-c", "echo no room >&2; exit 7"], milliseconds: 5000)
        }
        #expect(failed?.description == "/bin/sh exited with status 7: no room")
        let begin = ContinuousClock.now
        let late = #expect(throws: ProgramRun.Failure.self) {
            try ProgramRun.run("/bin/sh", ["-c", "sleep 60; true"], milliseconds: 300)
        }
        #expect(late?.description.contains("Connection timed out") == true && ContinuousClock.now - begin < .seconds(5))
        #expect(throws: ProgramRun.Failure.self) { try ProgramRun.run("/nowhere", [], milliseconds: 300) }
    }
}
