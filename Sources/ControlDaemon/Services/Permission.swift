package import ControlAPI

/// Who may do what (design, section 3, "Permission"); asked once per call, with an answer in bounded time.
///
/// Root may. Where polkit answers on the system bus, it decides. Else the members of the group `tunneld` may, or, where the
/// administrator says so, everybody; but only with what is their own.
package struct Permission: Sendable {
    /// The group whose members may start and change their own configurations.
    package static let group = "tunneld"

    /// Whether every user is treated as a member of the group.
    package let allowsAllUsers: Bool
    private let authority: Authority

    package init(allowsAllUsers: Bool, authority: Authority = .none) {
        self.allowsAllUsers = allowsAllUsers
        self.authority = authority
    }

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
    /// - Parameters:
    ///   - thing: what belongs to the owner: "configuration".
    ///   - what: the action in words, as the object of "can't": "start home".
    /// - Throws: `permissionDenied`, which names what is missing.
    package func check(
        _ action: Action,
        on owner: Configuration.Owner,
        by caller: Caller,
        thing: String = "configuration",
        _ what: String
    ) async throws(ControlError) {
        if caller.isRoot { return }
        let isOwn = owner.user == caller.user
        if action == .reveal, !isOwn {
            throw denied(what, "Only root may read secrets that aren't one's own.", Self.asRoot)
        }
        // The permissions are about one's own and the system's.
        guard isOwn || owner.user == 0 else {
            throw denied(what, "The \(thing) is user \(owner.user)'s, and only root may touch it.", Self.asRoot)
        }
        let right = Self.right(action, isOwn: isOwn)
        switch await authority.ask(right, caller, action == .reveal) {
        case .yes: return
        case .no:
            throw denied(
                what,
                "polkit doesn't give user \(caller.user) the permission \(right).",
                "Do it as root, or have the administrator allow it by a rule of polkit's."
            )
        case .needsAuthentication:
            throw denied(
                what,
                "polkit gives user \(caller.user) the permission \(right) only after an authentication.",
                "Do it as root, for example with sudo, or have the administrator allow it by a rule of polkit's."
            )
        case .absent: try checkWithoutAuthority(action, isOwn, right, caller, thing, what)
        }
    }

    private static let asRoot = "Do it as root, for example with sudo."

    private static func right(_ action: Action, isOwn: Bool) -> String {
        switch action {
        case .reveal: "org.tunneld.reveal"
        case .control: isOwn ? "org.tunneld.manage-own" : "org.tunneld.control-system"
        case .change: isOwn ? "org.tunneld.manage-own" : "org.tunneld.manage-system"
        }
    }

    private func checkWithoutAuthority(
        _ action: Action,
        _ isOwn: Bool,
        _ right: String,
        _ caller: Caller,
        _ thing: String,
        _ what: String
    ) throws(ControlError) {
        if action == .reveal {
            throw denied(what, "Only root may read secrets where no polkit answers (permission \(right)).", Self.asRoot)
        }
        guard isOwn else {
            throw denied(
                what,
                "The \(thing) is the system's, and user \(caller.user) has no permission \(right).",
                Self.asRoot
            )
        }
        guard allowsAllUsers || caller.isInGroup else {
            throw denied(
                what,
                "User \(caller.user) isn't in the group \(Self.group) (permission \(right)).",
                "Do it as root, or have the user added: sudo usermod -aG \(Self.group) USER, and log in again."
            )
        }
    }

    private func denied(_ what: String, _ reason: String, _ remedy: String) -> ControlError {
        ControlError(.permissionDenied, "Can't \(what).", reason: reason, remedy: remedy)
    }
}
