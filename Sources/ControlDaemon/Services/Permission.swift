package import ControlAPI

/// Who may do what (design, section 3, "Permission"); asked once per call, and answered at once.
package struct Permission: Equatable, Sendable {
    /// The group whose members may start and change their own configurations.
    package static let group = "tunneld"

    /// Whether every user is treated as a member of the group.
    package let allowsAllUsers: Bool

    package init(allowsAllUsers: Bool) { self.allowsAllUsers = allowsAllUsers }

    package enum Action: Sendable {
        /// Start and stop.
        case control
        /// Save and remove.
        case change
        /// Let secrets out.
        case reveal
    }

    /// Whether the caller may know that a configuration of this owner exists: its own, and the system's.
    package func maySee(_ owner: Configuration.Owner, _ caller: Caller) -> Bool {
        caller.isRoot || owner.user == caller.user || owner.user == 0
    }

    /// Asks for an action on a configuration that the caller may see.
    ///
    /// - Parameter what: the action in words, as the object of "can't": "start home".
    /// - Throws: `permissionDenied`, which names what is missing.
    package func check(
        _ action: Action,
        on owner: Configuration.Owner,
        by caller: Caller,
        _ what: String
    ) throws(ControlError) {
        if caller.isRoot { return }
        if action == .reveal {
            throw denied(what, "Only root may read secrets.", "Do it as root, for example with sudo.")
        }
        guard owner.user == caller.user else {
            let right = action == .control ? "org.tunneld.control-system" : "org.tunneld.manage-system"
            throw denied(
                what,
                "The configuration is the system's, and user \(caller.user) has no permission \(right).",
                "Do it as root, for example with sudo."
            )
        }
        guard allowsAllUsers || caller.isInGroup else {
            throw denied(
                what,
                "User \(caller.user) isn't in the group \(Self.group) (permission org.tunneld.manage-own).",
                "Do it as root, or have the user added: sudo usermod -aG \(Self.group) USER, and log in again."
            )
        }
    }

    private func denied(_ what: String, _ reason: String, _ remedy: String) -> ControlError {
        ControlError(.permissionDenied, "Can't \(what).", reason: reason, remedy: remedy)
    }
}
