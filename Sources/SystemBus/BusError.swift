/// Why a call over the system bus has no answer.
package enum BusError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no bus, or it turned us away.
    case unavailable(String)
    case timedOut
    /// The other side answered with an error.
    case refused(name: String, message: String)
    /// What came is no D-Bus.
    case malformed

    package var description: String {
        switch self {
        case .unavailable(let reason): "the system bus can't be reached: \(reason)"
        case .timedOut: "the system bus didn't answer in time"
        case .refused(let name, let message): message.isEmpty ? name : message
        case .malformed: "the system bus sent something that is no D-Bus"
        }
    }
}
