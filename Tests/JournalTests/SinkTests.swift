import Glibc
import LinuxSystem
import Testing
@testable import Journal

@Suite struct `Log sinks` {
    private let entry = LogEntry(level: .warning, message: "peer lost", fields: [.tunnelName("home")])

    @Test func `an entry is one line on standard error`() throws {
        let (reading, writing) = try pipe()
        #expect(StandardErrorSink(descriptor: writing.raw).write(entry))
        #expect(read(reading) == "warning: peer lost [TUNNEL_NAME=home]\n")
    }

    @Test func `control characters can't begin a line or colour a terminal`() throws {
        let hostile = LogEntry(level: .error, message: "a\nerror: b\u{1B}[31m\r\u{85}", fields: [])
        let line = String(decoding: StandardErrorSink.line(for: hostile), as: UTF8.self)
        #expect(line == "error: a\\nerror: b\\u{1B}[31m\\r\\u{85}\n")
    }

    @Test func `a long line is cut at a whole character and to what a pipe takes at once`() {
        let long = LogEntry(level: .error, message: String(repeating: "ü", count: 5000), fields: [])
        let line = StandardErrorSink.line(for: long)
        #expect(line.count <= StandardErrorSink.lineLimit)
        #expect(line.count > StandardErrorSink.lineLimit - 8)
        #expect(String(validating: line, as: UTF8.self)?.hasSuffix("ü…\n") == true)
    }

    @Test func `a reader that stands still loses entries and holds up nobody`() throws {
        let (reading, writing) = try pipe()
        let sink = StandardErrorSink(descriptor: writing.raw)
        var written = 0
        while sink.write(entry) { written += 1 }
        #expect(written > 100)
        while !sink.write(entry) { _ = read(reading) }
    }

    @Test func `a reader that is gone is survived`() throws {
        StandardDescriptors.secure()
        var ends = Optional(try pipe())
        let writing = try #require(ends).writing
        ends = nil
        #expect(StandardErrorSink(descriptor: writing.raw).write(entry))
    }

    @Test func `the journal gets every field, and a line break can't begin another one`() {
        let entry = LogEntry(level: .notice, message: "one\nPRIORITY=0", fields: [.tunnelID("1234")])
        let datagram = JournalSink.datagram(for: entry, identifier: "tunneld")
        let length: [UInt8] = [14, 0, 0, 0, 0, 0, 0, 0]
        #expect(
            datagram == Array("PRIORITY=5\nSYSLOG_IDENTIFIER=tunneld\nMESSAGE\n".utf8) + length
                + Array("one\nPRIORITY=0\nTUNNEL_ID=1234\n".utf8)
        )
    }

    @Test func `journald gets one datagram an entry; when it doesn't read, entries are lost and nobody waits`() throws {
        let listener = try DatagramListener()
        let fallback = RecordingSink()
        let sink = try #require(JournalSink(identifier: "test", path: listener.path, fallback: fallback))
        #expect(sink.write(entry))
        #expect(
            listener.receive() == "PRIORITY=4\nSYSLOG_IDENTIFIER=test\nMESSAGE=peer lost\nTUNNEL_NAME=home\n"
        )
        while sink.write(entry) {}
        #expect(fallback.entries.isEmpty)
        #expect(listener.receive() != nil)
        #expect(sink.write(entry))
    }

    @Test func `without journald entries go to standard error`() throws {
        let fallback = RecordingSink()
        let sink = try #require(JournalSink(identifier: "test", path: "/nonexistent/socket", fallback: fallback))
        #expect(sink.write(entry))
        #expect(fallback.entries == [entry])
    }

    @Test func `an entry of any size fits into a datagram`() throws {
        let listener = try DatagramListener()
        let fallback = RecordingSink()
        let sink = try #require(JournalSink(identifier: "test", path: listener.path, fallback: fallback))
        let long = String(repeating: "x", count: 1 << 20)
        #expect(
            sink.write(LogEntry(level: .error, message: long, fields: Array(repeating: .tunnelName(long), count: 100)))
        )
        #expect(fallback.entries.isEmpty)
        #expect(listener.receive()?.hasPrefix("PRIORITY=3\n") == true)
    }

    @Test func `the journal's stream is known by device and inode`() throws {
        let (reading, writing) = try pipe()
        var status = stat()
        #expect(unsafe fstat(writing.raw, &status) == 0)
        #expect(LogOutput.isJournal(writing.raw, stream: "\(status.st_dev):\(status.st_ino)"))
        #expect(!LogOutput.isJournal(writing.raw, stream: "\(status.st_dev):\(status.st_ino + 1)"))
        #expect(!LogOutput.isJournal(writing.raw, stream: nil))
        withExtendedLifetime(reading) {}
    }

    @Test func `systemd is told of states, in one line each`() throws {
        let listener = try DatagramListener()
        let notifier = ServiceNotifier(path: listener.path)
        notifier.ready(status: "2 tunnels\nREADY=0")
        #expect(listener.receive() == "READY=1\nSTATUS=2 tunnels READY=0")
        notifier.stopping()
        #expect(listener.receive() == "STOPPING=1")
    }

    @Test func `a systemd in the abstract namespace is told too`() throws {
        let listener = try DatagramListener(abstractName: "tunneld-test-\(getpid())")
        ServiceNotifier(path: listener.path).status("idle")
        #expect(listener.receive() == "STATUS=idle")
    }
}

private func pipe() throws -> (reading: SharedDescriptor, writing: SharedDescriptor) {
    var ends: [Int32] = [-1, -1]
    try check("pipe") { unsafe Glibc.pipe(&ends) }
    return (
        SharedDescriptor(OwnedDescriptor(adopting: ends[0])), SharedDescriptor(OwnedDescriptor(adopting: ends[1]))
    )
}

private func read(_ descriptor: SharedDescriptor) -> String {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe Glibc.read(descriptor.raw, &bytes, bytes.count)
    return String(decoding: bytes[..<max(count, 0)], as: UTF8.self)
}
