package import ControlAPI
import Glibc
import LinuxSystem
import VarlinkCore
import VarlinkSocket

/// Turns what a call can end with into the one shape of errors.
package enum ErrorTranslation {
    /// - Parameters:
    ///   - method: what was called, for the message.
    ///   - socket: where tunneld was sought.
    package static func controlError(_ error: any Error, method: String, socket: String) -> ControlError {
        switch error {
        case let error as ControlError: error
        case let error as VarlinkError: fromService(error, method: method)
        case let error as VarlinkClientError: fromTransport(error, method: method, socket: socket)
        case let error as DecodingError:
            ControlError(
                .versionMismatch,
                "tunneld's answer to \(method) can't be read.",
                reason: describe(error),
                remedy: "Run tunnelctl and tunneld of the same version; `tunnelctl version` shows both."
            )
        default: ControlError(.unavailable, "\(method) failed.", reason: "\(error)")
        }
    }

    /// This client knows a call that tunneld doesn't.
    package static func versionMismatch(method: String, daemon: String?) -> ControlError {
        let versions = "tunneld is version \(daemon ?? "unknown"), this client \(ProductVersion.version)"
        return ControlError(
            .versionMismatch,
            "This client is newer than tunneld, which doesn't know \(method).",
            reason: "\(versions).",
            remedy: "Upgrade tunneld, or restart it if it was upgraded while it ran: running tunnels go on."
        )
    }

    private static func fromService(_ error: VarlinkError, method: String) -> ControlError {
        let prefix = "org.tunneld."
        if error.name.hasPrefix(prefix), var told = try? error.decode(ControlError.self) {
            // The name of the Varlink error is the one that counts; parameters may leave it out.
            let name = String(error.name.dropFirst(prefix.count))
            told.name = name == "LimitExceeded" ? .tooMany : ControlError.Name(rawValue: name) ?? told.name
            return told
        }
        switch error.name {
        case "org.varlink.service.MethodNotFound", "org.varlink.service.InterfaceNotFound",
            "org.varlink.service.MethodNotImplemented":
            return versionMismatch(method: method, daemon: nil)
        case "org.varlink.service.InvalidParameter":
            let field = (try? error.decode([String: String].self))?["parameter"]
            return ControlError(.invalidParameter, "tunneld refused a parameter of \(method).", field: field)
        default:
            return ControlError(.internalError, "\(method) failed.", reason: error.description)
        }
    }

    private static func fromTransport(_ error: VarlinkClientError, method: String, socket: String) -> ControlError {
        switch error {
        case .cannotConnect(_, let cause) where cause.code == EACCES || cause.code == EPERM:
            ControlError(
                .permissionDenied,
                "\(socket) may not be opened.",
                reason: "\(cause)",
                remedy: "Ask the administrator for access to the control socket's folder."
            )
        case .cannotConnect(_, let cause) where cause.code == EAGAIN:
            ControlError(.tooMany, "tunneld takes no more connections.", reason: "\(cause)", remedy: "Try again later.")
        case .cannotConnect(_, let cause):
            ControlError(
                .notRunning,
                "tunneld isn't running.",
                reason: "\(socket): \(cause).",
                remedy:
                    "Start it as root: `tunneld`, or `systemctl start tunneld`. Another socket is named by --socket."
            )
        case .requestTooLong(let limit):
            ControlError(.tooMany, "The request is too long.", reason: "tunneld takes at most \(limit) bytes.")
        default:
            ControlError(
                .unavailable,
                "The connection to tunneld ended before it had answered.",
                reason: "\(method): \(error).",
                remedy:
                    "See whether tunneld runs and what is in \(LogHint.tunneld), and try again: running tunnels go on."
            )
        }
    }

    private static func describe(_ error: DecodingError) -> String {
        switch error {
        case .keyNotFound(let key, _): "\"\(key.stringValue)\" is missing."
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            "\(context.codingPath.map(\.stringValue).joined(separator: ".")): \(context.debugDescription)"
        @unknown default: "\(error)"
        }
    }
}
