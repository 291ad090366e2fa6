/// Why a call over the system bus has no answer.
package enum BusError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no bus, or it turned us away.
    case unavailable(String)
    case timedOut
    /// The other side answered with an error.
    case refused(name: String, message: String)
    /// What came, or was to be sent, isn't what D-Bus allows or the method has.
    case malformed(String)

    package var description: String {
        switch self {
        case .unavailable(let reason): "the system bus can't be reached: \(reason)"
        case .timedOut: "the system bus didn't answer in time"
        case .refused(let name, let message): message.isEmpty ? name : message
        case .malformed(let reason): "a message of the system bus can't be used: \(reason)"
        }
    }
}
