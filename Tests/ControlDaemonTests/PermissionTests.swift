import ControlAPI
import Testing

@testable import ControlDaemon

@Suite struct PermissionTests {
    private let root = Caller(user: 0, isInGroup: false)
    private let member = Caller(user: 1000, isInGroup: true)
    private let guest = Caller(user: 1001, isInGroup: false)
    private let system = Configuration.Owner(user: 0)
    private let members = Configuration.Owner(user: 1000)
    private let guests = Configuration.Owner(user: 1001)
    private let standard = Permission(allowsAllUsers: false)

    @Test func `everybody sees their own and the system's, and root all`() {
        #expect(standard.maySee(system, guest) && standard.maySee(guests, guest))
        #expect(!standard.maySee(members, guest) && !standard.maySee(guests, member))
        for owner in [system, members, guests] { #expect(standard.maySee(owner, root)) }
    }

    @Test func `root may do everything`() throws {
        for action in [Permission.Action.control, .change, .reveal] {
            for owner in [system, members] { try standard.check(action, on: owner, by: root, "x") }
        }
    }

    @Test func `a member of the group may start and change their own`() throws {
        try standard.check(.control, on: members, by: member, "x")
        try standard.check(.change, on: members, by: member, "x")
    }

    @Test func `the administrator may let everybody do so`() throws {
        let open = Permission(allowsAllUsers: true)
        try open.check(.change, on: guests, by: guest, "x")
        #expect(refusal(.control, system, guest, open) != nil)
        #expect(refusal(.reveal, guests, guest, open) != nil)
    }

    @Test func `a refusal names what is missing and what to do`() {
        let own = refusal(.control, guests, guest, standard)
        #expect(own?.name == .permissionDenied && own?.message == "Can't start home.")
        #expect(own?.reason == "User 1001 isn't in the group tunneld (permission org.tunneld.manage-own).")
        #expect(own?.remedy?.contains("usermod -aG tunneld") == true)
        let start = refusal(.control, system, member, standard)
        #expect(start?.reason?.contains("org.tunneld.control-system") == true)
        let change = refusal(.change, system, member, standard)
        #expect(change?.reason?.contains("org.tunneld.manage-system") == true)
        #expect(refusal(.reveal, members, member, standard)?.reason == "Only root may read secrets.")
    }

    private func refusal(
        _ action: Permission.Action,
        _ owner: Configuration.Owner,
        _ caller: Caller,
        _ permission: Permission
    ) -> ControlError? {
        do throws(ControlError) {
            try permission.check(action, on: owner, by: caller, "start home")
            return nil
        } catch {
            return error
        }
    }
}
