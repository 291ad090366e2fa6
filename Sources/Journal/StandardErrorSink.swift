import Glibc
import NetworkTypes

/// Writes entries as lines: `warning: the text [TUNNEL_NAME=home]`.
struct StandardErrorSink: LogSink {
    /// A pipe that poll(2) calls writable takes this much without blocking (pipe(7), PIPE_BUF).
    static let lineLimit = 4096

    let descriptor: Int32

    func write(_ entry: LogEntry) -> Bool {
        var status = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&status, 1, 0) == 1 else { return false }
        let line = Self.line(for: entry)
        let count = unsafe line.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        // A descriptor that nobody reads any more (EPIPE) takes nothing, and isn't waited for.
        return count >= 0 || errno != EAGAIN
    }

    /// The line with its end, cut at a whole character if it is too long.
    static func line(for entry: LogEntry) -> [UInt8] {
        var text = "\(entry.level.rawValue): \(entry.message)"
        if !entry.fields.isEmpty {
            text += " [" + entry.fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ") + "]"
        }
        var line: [UInt8] = []
        // What came from elsewhere can't begin a line of its own or colour a terminal.
        for scalar in text.escapedForTerminal.unicodeScalars {
            let piece = String(scalar).utf8
            guard line.count + piece.count + 4 <= lineLimit else {
                line += "…".utf8
                break
            }
            line += piece
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }
}
