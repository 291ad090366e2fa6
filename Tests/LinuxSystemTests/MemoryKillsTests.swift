import Glibc
import Testing

@testable import LinuxSystem

@Suite struct MemoryKillsTests {
    private let root = TemporaryFolder()

    @Test func `kills are counted in the group of the memory controller, from the beginning on`() throws {
        try write("memory/a/b", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
        let groups = "4:memory:/a/b\n1:cpu:/\n0::/x\n"
        let kills = try #require(MemoryKills(groups: groups, folder: root.path))
        #expect(kills.count == 0)
        try write("memory/a/b", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
        #expect(kills.count == 2)
    }

    @Test func `of the unified hierarchy the nearest group counts in which memory is controlled`() throws {
        try write("system.slice/t.service/leaf", "cgroup.procs", "")
        try write("system.slice/t.service", "memory.events", "low 0\noom 1\noom_kill 1\noom_group_kill 0\n")
        try write("system.slice", "memory.events", "oom_kill 7\n")
        let groups = "0::/system.slice/t.service/leaf\n"
        let kills = try #require(MemoryKills(groups: groups, folder: root.path))
        try write("system.slice/t.service", "memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 0\n")
        #expect(kills.count == 1)
    }

    @Test(arguments: ["", "0::/\n", "4:memory:/\n", "nonsense\n", "0::/absent/deeper\n"])
    func `without such a group there is no count`(groups: String) {
        #expect(MemoryKills(groups: groups, folder: root.path) == nil)
    }

    private func write(_ folder: String, _ name: String, _ text: String) throws {
        var path = root.path
        for part in folder.split(separator: "/") {
            path += "/" + part
            _ = unsafe mkdir(path, 0o755)
        }
        try AtomicFile.write(Array(text.utf8), to: "\(path)/\(name)", mode: 0o600)
    }
}
