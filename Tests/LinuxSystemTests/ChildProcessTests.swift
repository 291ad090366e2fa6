import Dispatch
import Glibc
import TestSupport
import Testing

@testable import LinuxSystem

@Suite struct ChildProcessTests {
    /// Beyond the ids that tunneld gives to providers, so that a running one is never mistaken for it.
    private let user: UInt32 = 2_000_070_001

    @Test func `a child has no privilege and no descriptor of ours`() throws {
        let result = try output(
            of: "/bin/sh",
            ["-c", "cat /proc/self/status; ls /proc/self/fd; ulimit -c; pwd; umask; env"],
            environment: ["TUNNEL": "x"]
        )
        let status = try #require(ThreadPrivileges(parsing: result))
        #expect(status.users == [user, user, user, user])
        #expect(status.groups == [user, user, user, user])
        #expect(status.faults.isEmpty)
        let lines = result.split(separator: "\n").map(String.init)
        // The folder itself is open as 3 while it is listed.
        let descriptors = lines.filter { Int($0) != nil && $0.count == 1 }
        #expect(descriptors.starts(with: ["0", "1", "2", "3"]) && !descriptors.contains("4"))
        #expect(lines.contains("0077"))
        #expect(lines.filter { $0.hasPrefix("TUNNEL") || $0.hasPrefix("HOME") } == ["TUNNEL=x"])
    }

    @Test func `a child leads a session of its own and has its signals reset`() throws {
        _ = signal(SIGUSR2, SIG_IGN)
        defer { _ = signal(SIGUSR2, SIG_DFL) }
        let result = try output(of: "/bin/cat", ["/proc/self/stat", "/proc/self/status"])
        let fields = result.split(separator: " ")
        #expect(fields[0] == fields[5], "the session's id is the process's")
        let ignored = result.split(separator: "\n").first { $0.hasPrefix("SigIgn:\t") }?.dropFirst(8)
        let bits = try #require(ignored.flatMap { UInt64($0, radix: 16) })
        // Signals 32 and 33 are glibc's own.
        #expect(bits & 0x7fff_ffff == 0)
        #expect(result.contains("SigBlk:\t0000000000000000"))
    }

    @Test func `a program runs although its folder is closed to the user`() throws {
        // mkdtemp(3) makes it 0700, for root.
        let temporary = TemporaryFolder()
        let folder = temporary.path
        try AtomicFile.write(
            FileSystem.contents(ofFile: "/bin/true", limit: 1 << 20),
            to: folder + "/true",
            mode: 0o755
        )
        let child = try ChildProcess(program: folder + "/true", directory: folder, user: user).start()
        #expect(child.waitForEnd(milliseconds: patienceMilliseconds))
        #expect(child.collect() == .exited(0))
    }

    @Test func `a program that is still being written is waited for`() throws {
        let temporary = TemporaryFolder()
        let program = temporary.path + "/true"
        try AtomicFile.write(FileSystem.contents(ofFile: "/bin/true", limit: 1 << 20), to: program, mode: 0o755)
        let writer = unsafe open(program, O_WRONLY | O_CLOEXEC)
        DispatchQueue(label: "writer").asyncAfter(deadline: .now() + .milliseconds(50)) { _ = close(writer) }
        let child = try ChildProcess(program: program, directory: temporary.path, user: user).start()
        #expect(child.waitForEnd(milliseconds: patienceMilliseconds))
        #expect(child.collect() == .exited(0))
    }

    @Test func `the step that failed is named`() {
        #expect(throws: SpawnError(.execute, ENOENT)) {
            try ChildProcess(program: "/nonexistent", user: user).start()
        }
        #expect(throws: SpawnError(.execute, EACCES)) {
            try ChildProcess(program: "/etc/passwd", user: user).start()
        }
        #expect(throws: SpawnError(.directory, ENOENT)) {
            try ChildProcess(program: "/bin/true", directory: "/nonexistent", user: user).start()
        }
        #expect(SpawnError(.user, EINVAL).description == "setresuid: Invalid argument (EINVAL)")
    }

    @Test func `the end of a child is told with its status or signal`() throws {
        let exited = try ChildProcess(program: "/bin/sh", arguments: ["-c", "exit 7"], user: user).start()
        #expect(exited.waitForEnd(milliseconds: patienceMilliseconds))
        #expect(exited.collect() == .exited(7))
        let killed = try ChildProcess(program: "/bin/sleep", arguments: ["60"], user: user).start()
        #expect(killed.collect() == nil)
        try killed.signal(SIGKILL)
        #expect(killed.waitForEnd(milliseconds: patienceMilliseconds))
        #expect(killed.collect() == .signalled(SIGKILL))
        #expect(ProcessEnd.signalled(SIGKILL).description == "was ended by signal 9 (Killed)")
    }

    @Test func `a process is known by number and start time`() throws {
        let child = try ChildProcess(program: "/bin/sleep", arguments: ["60"], user: user).start()
        let identity = try #require(ProcessIdentity(reading: child.pid))
        #expect(identity.open() != nil)
        #expect(ProcessIdentity(pid: child.pid, startTime: identity.startTime + 1).open() == nil)
        try child.signal(SIGKILL)
        #expect(child.waitForEnd(milliseconds: patienceMilliseconds))
        #expect(child.collect() == .signalled(SIGKILL))
        #expect(identity.open() == nil)
    }

    @Test func `a name with parentheses and blanks doesn't shift the fields`() {
        let stat = "12 (a) R b) S 1 12 12 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9"
        #expect(ProcessIdentity.startTime(inStat: Array(stat.utf8)) == 4242)
        #expect(ProcessIdentity.startTime(inStat: Array("12 (a".utf8)) == nil)
    }

    private func output(
        of program: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws -> String {
        let (reader, process) = try start(program, arguments, environment)
        let bytes = try FileSystem.contents(of: OwnedDescriptor(adopting: dup(reader.raw)), limit: 1 << 16)
        #expect(process.waitForEnd(milliseconds: patienceMilliseconds))
        #expect(process.collect() == .exited(0))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The writing end must go with the child, or reading would never end.
    private func start(
        _ program: String,
        _ arguments: [String],
        _ environment: [String: String]
    ) throws -> (SharedDescriptor, ProcessDescriptor) {
        let (reader, writer) = try Pipe.make()
        var child = ChildProcess(program: program, arguments: arguments, environment: environment, user: user)
        child.output = writer
        return (reader, try child.start())
    }
}
