import ControlAPI

extension SessionView {
    /// Whether there is a session: anything but down.
    var isRunning: Bool { status != .disconnected && status != .invalid }

    /// The notes without that about DNS, which the DNS line tells.
    var notesBesideDNS: [String] { notes.filter { $0 != dns?.note } }
}
