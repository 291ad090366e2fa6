/// Who makes a call, as the kernel says.
package struct Caller: Equatable, Sendable {
    package let user: UInt32
    /// Whether the user is in the group `tunneld`.
    package let isInGroup: Bool
    /// The process that connected.
    package let process: Int32

    package init(user: UInt32, isInGroup: Bool, process: Int32 = 0) {
        self.user = user
        self.isInGroup = isInGroup
        self.process = process
    }

    package var isRoot: Bool { user == 0 }
}
