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

    @Test func `root may do everything`() async throws {
        for action in [Permission.Action.control, .change, .reveal] {
            for owner in [system, members] { try await standard.check(action, on: owner, by: root, "x") }
        }
    }

    @Test func `a member of the group may start and change their own`() async throws {
        try await standard.check(.control, on: members, by: member, "x")
        try await standard.check(.change, on: members, by: member, "x")
    }

    @Test func `the administrator may let everybody do so`() async throws {
        let open = Permission(allowsAllUsers: true)
        try await open.check(.change, on: guests, by: guest, "x")
        #expect(await refusal(.control, system, guest, open) != nil)
        #expect(await refusal(.reveal, guests, guest, open) != nil)
    }

    @Test func `a refusal names what is missing and what to do`() async {
        let own = await refusal(.control, guests, guest, standard)
        #expect(own?.name == .permissionDenied && own?.message == "Can't start home.")
        #expect(own?.reason == "User 1001 isn't in the group tunneld (permission org.tunneld.manage-own).")
        #expect(own?.remedy?.contains("usermod -aG tunneld") == true)
        let start = await refusal(.control, system, member, standard)
        #expect(start?.reason?.contains("org.tunneld.control-system") == true)
        let change = await refusal(.change, system, member, standard)
        #expect(change?.reason?.contains("org.tunneld.manage-system") == true)
        #expect(
            await refusal(.reveal, members, member, standard)?.reason
                == "Only root may read secrets where no polkit answers (permission org.tunneld.reveal)."
        )
    }

    // MARK: polkit

    @Test(
        arguments: [
            (Permission.Action.control, true, "org.tunneld.manage-own", false),
            (.change, true, "org.tunneld.manage-own", false), (.control, false, "org.tunneld.control-system", false),
            (.change, false, "org.tunneld.manage-system", false), (.reveal, true, "org.tunneld.reveal", true),
        ]
    )
    func `where polkit answers it decides, by the permission's own name`(
        action: Permission.Action,
        isOwn: Bool,
        right: String,
        isInteractive: Bool
    ) async throws {
        let owner = isOwn ? members : system
        for answer in [Authority.Answer.yes, .no, .needsAuthentication] {
            let permission = Permission(
                allowsAllUsers: true,
                authority: Authority { [member] asked, caller, mayAsk in
                    #expect(asked == right && caller == member && mayAsk == isInteractive)
                    return answer
                }
            )
            let error = await refusal(action, owner, member, permission)
            if answer == .yes {
                #expect(error == nil)
            } else {
                #expect(error?.name == .permissionDenied && error?.reason?.contains(right) == true)
                #expect(error?.reason?.hasPrefix("polkit") == true)
            }
        }
    }

    @Test func `neither root nor another user's secret is a question for polkit`() async throws {
        let asked = Permission(
            allowsAllUsers: false,
            authority: Authority { _, _, _ in
                Issue.record("It was asked.")
                return .no
            }
        )
        try await asked.check(.change, on: system, by: root, "x")
        #expect(
            await refusal(.reveal, system, member, asked)?.reason == "Only root may read secrets that aren't one's own."
        )
    }

    @Test func `what is another user's is root's alone to touch, whatever polkit would say`() async {
        let asked = Permission(allowsAllUsers: true, authority: Authority { _, _, _ in .yes })
        for action in [Permission.Action.control, .change] {
            let error = await refusal(action, members, guest, asked)
            #expect(error?.name == .permissionDenied)
            #expect(error?.reason == "The configuration is user 1000's, and only root may touch it.")
        }
    }

    private func refusal(
        _ action: Permission.Action,
        _ owner: Configuration.Owner,
        _ caller: Caller,
        _ permission: Permission
    ) async -> ControlError? {
        do throws(ControlError) {
            try await permission.check(action, on: owner, by: caller, "start home")
            return nil
        } catch {
            return error
        }
    }
}
