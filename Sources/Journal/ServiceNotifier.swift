import LinuxSystem

/// Tells systemd how the service is doing, where systemd started it and asks for that.
///
/// Source: sd_notify(3): datagrams of `NAME=value` lines to the socket named by NOTIFY_SOCKET.
package struct ServiceNotifier: Sendable {
    private let path: String?

    /// - Parameter path: the socket; nil where nobody wants to know.
    package init(path: String?) {
        // Another form, "vsock:…", is for virtual machines that tell their host.
        self.path = path.flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    }

    /// The process's own.
    package static let process = ServiceNotifier(path: environment("NOTIFY_SOCKET"))

    /// The service answers requests.
    package func ready(status: String) { send(["READY=1", "STATUS=\(oneLine(status))"]) }

    /// One line about what the service does, shown by `systemctl status`.
    package func status(_ text: String) { send(["STATUS=\(oneLine(text))"]) }

    package func stopping() { send(["STOPPING=1"]) }

    /// Waits at most a second, should systemd not read; a failure is dropped, for nobody could be told.
    private func send(_ lines: [String]) {
        guard let path, let sender = try? UnixDatagramSender(to: path, patienceMilliseconds: 1000) else { return }
        try? sender.send(Array(lines.joined(separator: "\n").utf8))
    }

    private func oneLine(_ text: String) -> String { String(text.map { $0.isNewline ? " " : $0 }) }
}
