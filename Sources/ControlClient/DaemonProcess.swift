import ControlAPI
import LinuxSystem
import NetworkTypes

/// The process that has tunneld's control socket, as far as a client can see it.
struct DaemonProcess {
    /// 0 where it is in another process namespace.
    let identifier: Int32

    /// It took the connection and then said nothing.
    ///
    /// - Parameters:
    ///   - method: what was called.
    ///   - limit: how long it was waited for.
    func silence(after method: String, _ limit: Interval) -> ControlError {
        let name = method.split(separator: ".").last.map(String.init) ?? method
        let who = identifier > 0 ? "tunneld (process \(identifier))" : "tunneld"
        let isStopped = isStopped
        return ControlError(
            .unavailable,
            "\(who) doesn't answer.",
            reason: "It took the connection and hasn't answered \(name) within \(Int(limit.inSeconds)) s"
                + (isStopped ? "; the process is stopped, by a signal or a debugger." : "."),
            remedy: remedy(isStopped)
        )
    }

    private func remedy(_ isStopped: Bool) -> String {
        guard identifier > 0 else { return "Look into \(LogHint.tunneld). Running tunnels go on." }
        return isStopped
            ? "Let it go on: `kill -CONT \(identifier)`. Running tunnels go on meanwhile."
            : "Look into \(LogHint.tunneld). If it stays so, end it with `kill -9 \(identifier)` and start it "
                + "again: running tunnels go on."
    }

    /// Whether the kernel says that the process is stopped (proc(5), the third field of stat).
    private var isStopped: Bool {
        guard identifier > 0,
            let bytes = try? FileSystem.contents(ofFile: "/proc/\(identifier)/stat", limit: 4096)
        else { return false }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.lastIndex(of: ")"), text[..<end].hasSuffix("(tunneld") else { return false }
        let state = text[text.index(after: end)...].first { $0 != " " }
        return state == "T" || state == "t"
    }
}
