import EventLoop
import LinuxSystem
import NetworkTypes

/// What a provider said before it ended: its own error, as a rule.
extension Tunnel {
    /// Far more than reading what lies in a socket takes.
    private static let listening = Interval.milliseconds(50)

    /// Waits until what an ended provider told has been read: its end may be noticed before.
    func hearLastWords() async {
        let limit = Instant.now() + Self.listening
        while live?.isHeardOut == false, Instant.now() < limit {
            guard (try? await Pause.sleep(for: .milliseconds(1))) != nil else { return }
        }
    }
}
