/// Writes entries that all carry the same fields; cheap to copy.
///
/// A level that is switched off costs one comparison: its message is never formed.
package struct Logger: Sendable {
    package let output: LogOutput
    private let fields: [LogField]

    package init(_ output: LogOutput, fields: [LogField] = []) {
        self.output = output
        self.fields = fields
    }

    /// The process's own: to the journal, or to standard error.
    package static let process = Logger(.process)

    /// The same with more fields.
    package func with(_ more: LogField...) -> Logger { Logger(output, fields: fields + more) }

    package func error(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [LogField] = []) {
        log(.error, message(), more())
    }

    package func warning(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [LogField] = []) {
        log(.warning, message(), more())
    }

    package func notice(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [LogField] = []) {
        log(.notice, message(), more())
    }

    package func info(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [LogField] = []) {
        log(.info, message(), more())
    }

    package func debug(_ message: @autoclosure () -> String, _ more: @autoclosure () -> [LogField] = []) {
        log(.debug, message(), more())
    }

    package func log(
        _ level: LogLevel,
        _ message: @autoclosure () -> String,
        _ more: @autoclosure () -> [LogField] = []
    ) {
        guard output.takes(level) else { return }
        output.write(LogEntry(level: level, message: message(), fields: fields + more()))
    }
}
