import ControlAPI
import Glibc
import LinuxSystem

/// A provider's program that could not be started: what to do about it.
enum SpawnFailure {
    static func error(_ program: String, _ error: SpawnError) -> ControlError {
        ControlError(
            .providerFailed,
            "The tunnel's provider can't be started.",
            reason: "\(program): \(error).",
            remedy: remedy(for: error)
        )
    }

    static func remedy(for error: SpawnError?) -> String? {
        switch (error?.step, error?.code) {
        case (.user, EINVAL), (.groups, _):
            "A provider runs as a user of its own. In a user namespace (a rootless container) give it the ids from "
                + "\(ProviderUser.range.lowerBound) to \(ProviderUser.inquiry) and let it set groups, or run tunneld "
                + "outside of it."
        case (.user, _), (.capabilities, _):
            "Run tunneld as root, with CAP_SETUID, CAP_SETGID and CAP_SETPCAP."
        case (.execute, EACCES):
            "Make the program executable for all users, and see that its file system isn't mounted noexec."
        case (.execute, ENOENT): "Install the provider again."
        default: nil
        }
    }
}
