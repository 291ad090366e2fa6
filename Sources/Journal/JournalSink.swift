import Glibc
import LinuxSystem

/// Writes entries to journald, with their fields.
///
/// The datagrams are made here and not by sd_journal_sendv(3), because that waits while journald doesn't read.
///
/// Source: https://systemd.io/JOURNAL_NATIVE_PROTOCOL.
struct JournalSink: LogSink {
    /// What of a value is kept: an entry must fit into a datagram.
    static let valueLimit = 8 << 10
    static let fieldLimit = 16

    private let sender: UnixDatagramSender
    private let identifier: String
    /// Takes entries while there is no journald.
    private let fallback: any LogSink

    /// Nil where no socket can be made.
    init?(identifier: String, path: String = "/run/systemd/journal/socket", fallback: any LogSink) {
        guard let sender = try? UnixDatagramSender(to: path, patienceMilliseconds: 0) else { return nil }
        self.sender = sender
        self.identifier = identifier
        self.fallback = fallback
    }

    func write(_ entry: LogEntry) -> Bool {
        do throws(SystemError) {
            try sender.send(Self.datagram(for: entry, identifier: identifier))
            return true
        } catch {
            return error.code != EAGAIN && fallback.write(entry)
        }
    }

    static func datagram(for entry: LogEntry, identifier: String) -> [UInt8] {
        var datagram: [UInt8] = []
        append("PRIORITY", "\(entry.level.priority)", to: &datagram)
        append("SYSLOG_IDENTIFIER", identifier, to: &datagram)
        append("MESSAGE", entry.message, to: &datagram)
        for field in entry.fields.prefix(fieldLimit) { append(field.name, field.value, to: &datagram) }
        return datagram
    }

    /// `NAME=value`, or, as a line break in a value would begin another field, the name, the length and the value.
    private static func append(_ name: String, _ value: String, to datagram: inout [UInt8]) {
        let bytes = value.utf8.prefix(valueLimit)
        datagram += name.utf8
        if bytes.contains(UInt8(ascii: "\n")) {
            datagram.append(UInt8(ascii: "\n"))
            for shift in stride(from: 0, to: 64, by: 8) {
                datagram.append(UInt8(truncatingIfNeeded: bytes.count >> shift))
            }
        } else {
            datagram.append(UInt8(ascii: "="))
        }
        datagram += bytes
        datagram.append(UInt8(ascii: "\n"))
    }
}
