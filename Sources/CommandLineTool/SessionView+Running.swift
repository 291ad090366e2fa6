import ControlAPI

extension SessionView {
    /// Whether there is a session: anything but down.
    var isRunning: Bool { status != .disconnected && status != .invalid }
}
