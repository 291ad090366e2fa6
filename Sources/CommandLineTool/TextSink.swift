import Glibc
package import LinuxSystem

/// Where text goes: standard output or standard error; in tests, memory.
package protocol TextSink: Sendable {
    /// - Throws: where the text can't be written.
    func write(_ bytes: RawSpan) throws(OutputClosed)
}

extension TextSink {
    package func write(_ text: String) throws(OutputClosed) {
        try unsafe write(text.utf8Span.span.bytes)
    }
}

/// The output can't be written any more.
package struct OutputClosed: Error, Equatable, Sendable, CustomStringConvertible {
    /// EPIPE where nobody reads it; then there is nobody to tell either.
    ///
    /// Kept as the number alone: the optimizer of Swift 6.3 crashes where an async function catches a larger typed error
    /// from a function that it inlines.
    private let code: Int32

    package var cause: SystemError { SystemError(code, in: "write") }
    package var description: String { cause.description }

    package init(_ cause: SystemError) { code = cause.code }
}

/// Writes to a file descriptor that somebody else owns.
package struct DescriptorSink: TextSink {
    private let descriptor: Int32

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    package func write(_ bytes: RawSpan) throws(OutputClosed) {
        var offset = 0
        while offset < bytes.byteCount {
            let rest = bytes.extracting(droppingFirst: offset)
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                offset += count
            } else if count < 0, errno == EAGAIN {
                // A terminal that was left nonblocking by another program.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = unsafe Glibc.poll(&poll, 1, -1)
            } else if count == 0 || errno != EINTR {
                throw OutputClosed(SystemError(count == 0 ? EIO : errno, in: "write"))
            }
        }
    }
}
