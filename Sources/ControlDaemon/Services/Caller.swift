/// Who makes a call, as the kernel says.
package struct Caller: Equatable, Sendable {
    package let user: UInt32
    /// Whether the user is in the group `tunneld`.
    package let isInGroup: Bool

    package init(user: UInt32, isInGroup: Bool) {
        self.user = user
        self.isInGroup = isInGroup
    }

    package var isRoot: Bool { user == 0 }
}
