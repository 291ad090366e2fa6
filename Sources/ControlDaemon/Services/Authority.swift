/// Who decides, beside tunneld itself, what users may do.
package struct Authority: Sendable {
    package enum Answer: Equatable, Sendable {
        case yes
        case no
        /// Only after the user has proven who they are, which nobody here could ask for.
        case needsAuthentication
        /// There is none on this machine, or it doesn't know tunneld's permissions: the group decides.
        case absent
    }

    /// - Parameter isInteractive: whether the user may be asked to prove who they are.
    package let ask: @Sendable (_ permission: String, _ caller: Caller, _ isInteractive: Bool) async -> Answer

    package init(_ ask: @escaping @Sendable (String, Caller, Bool) async -> Answer) { self.ask = ask }

    /// Nobody.
    package static let none = Authority { _, _, _ in .absent }
}
