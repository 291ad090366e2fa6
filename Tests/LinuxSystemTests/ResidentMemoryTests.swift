import Testing

@testable import LinuxSystem

struct ResidentMemoryTests {
    @Test func `only read-only files without pages of their own are released`() {
        let smaps = """
            55d0a0000000-55d0a0228000 r-xp 00000000 08:01 131 /usr/bin/program
            Size:               2208 kB
            Rss:                1024 kB
            Anonymous:             0 kB
            VmFlags: rd ex mr mw me
            55d0a0229000-55d0a023a000 r--p 00228000 08:01 131 /usr/bin/program
            Anonymous:            68 kB
            55d0a023a000-55d0a025a000 rw-p 00239000 08:01 131 /usr/bin/program
            Anonymous:             0 kB
            55d0a1000000-55d0a1021000 r--p 00000000 00:00 0 [heap]
            Anonymous:             0 kB
            7f0000000000-7f0000100000 r--p 00000000 08:01 77 /usr/lib/a library.so (deleted)
            Anonymous:             0 kB
            7f0000200000-7f0000201000 r-xp 00000000 00:00 0
            Anonymous:             0 kB
            7f0000300000-7f0000400000 r--s 00000000 08:01 78 /usr/share/data
            Anonymous:             0 kB
            """
        #expect(
            ResidentMemory.cleanMappings(in: smaps) == [
                .init(start: 0x55d0_a000_0000, end: 0x55d0_a022_8000),
                .init(start: 0x7f00_0000_0000, end: 0x7f00_0010_0000),
            ]
        )
    }

    @Test(arguments: ["", "x", "Anonymous: 0 kB", "1-2 r-xp 0 0 1 /a", "z-2 r-xp 0 0 1 /a\nAnonymous: 0 kB"])
    func `what is no smaps file names nothing`(text: String) {
        #expect(ResidentMemory.cleanMappings(in: text) == [])
    }

    @Test func `a process goes on after it, with less in memory`() throws {
        let before = try residentKilobytes()
        try ResidentMemory.releaseFilePages()
        #expect(try residentKilobytes() < before)
    }

    private func residentKilobytes() throws -> Int {
        let bytes = try FileSystem.contents(ofFile: "/proc/self/status", limit: 1 << 16)
        let line = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return try #require(line?.split(separator: " ").compactMap { Int($0) }.first)
    }
}
