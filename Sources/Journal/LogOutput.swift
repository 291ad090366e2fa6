import Glibc
import Synchronization

/// A sink, and from which level on it gets entries.
package final class LogOutput: Sendable {
    private let sink: any LogSink
    private let threshold: Atomic<Int>
    /// Entries that the sink didn't take since the last that it took.
    private let lost = Mutex(0)

    package init(_ sink: any LogSink, level: LogLevel = .notice) {
        self.sink = sink
        threshold = Atomic(level.priority)
    }

    /// Entries that matter less than this are dropped.
    package func setLevel(_ level: LogLevel) { threshold.store(level.priority, ordering: .relaxed) }

    package func takes(_ level: LogLevel) -> Bool { level.priority <= threshold.load(ordering: .relaxed) }

    package func write(_ entry: LogEntry) {
        // One entry at a time, so that the note about lost ones stands where they are missing.
        lost.withLock { lost in
            if lost > 0 {
                let note = "\(lost) entries are missing here: the log's reader did not keep up."
                guard sink.write(LogEntry(level: .warning, message: note, fields: [])) else {
                    lost += 1
                    return
                }
                lost = 0
            }
            if !sink.write(entry) { lost += 1 }
        }
    }
}

extension LogOutput {
    /// The journal where standard error leads there, else standard error.
    package static let process = LogOutput(processSink())

    private static func processSink() -> any LogSink {
        let standardError = StandardErrorSink(descriptor: STDERR_FILENO)
        guard isJournal(STDERR_FILENO, stream: environment("JOURNAL_STREAM")),
            let journal = JournalSink(identifier: processName(), fallback: standardError)
        else { return standardError }
        return journal
    }

    /// Whether a descriptor is the stream to the journal that systemd made.
    ///
    /// - Parameter stream: the value of JOURNAL_STREAM: device and inode (systemd.exec(5)). Another program in between
    ///   may have given us another standard error and the same environment.
    static func isJournal(_ descriptor: Int32, stream: String?) -> Bool {
        var status = stat()
        guard let stream, unsafe fstat(descriptor, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    private static func processName() -> String {
        let path = CommandLine.arguments.first ?? "tunneld"
        return path.split(separator: "/").last.map(String.init) ?? path
    }
}

/// A variable of the environment as it was at the start; nothing here changes it.
func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    return unsafe String(cString: value)
}
