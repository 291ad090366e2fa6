import LinuxSystem
import Testing

struct ThreadPrivilegesTests {
    @Test func `a thread without any privilege has no fault`() throws {
        let privileges = try #require(ThreadPrivileges(parsing: status()))
        #expect(privileges.faults == [])
        #expect(privileges.users == [61184, 61184, 61184, 61184])
        #expect(privileges.groups == [61184, 61184, 61184, 61184, 100])
        #expect(privileges.capabilities["CapBnd"] == 0)
        #expect(privileges.hasNoNewPrivileges)
    }

    @Test(arguments: ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
    func `one capability in any of the five sets is a fault that names the set`(name: String) throws {
        let privileges = try #require(ThreadPrivileges(parsing: status([name: "0000000000001000"])))
        #expect(privileges.faults == ["its capability set \(name) is 1000, not empty"])
    }

    @Test(arguments: ["0\t61184\t61184\t61184", "61184\t0\t61184\t61184", "61184\t61184\t0\t61184", "1\t1\t1\t0"])
    func `user id 0 in any place is a fault`(users: String) throws {
        let privileges = try #require(ThreadPrivileges(parsing: status(["Uid": users])))
        #expect(privileges.faults == ["it runs as user id 0"])
    }

    @Test(arguments: [("Gid", "0\t61184\t61184\t61184"), ("Groups", "100 0 ")])
    func `the group with id 0 is a fault`(name: String, value: String) throws {
        let privileges = try #require(ThreadPrivileges(parsing: status([name: value])))
        #expect(privileges.faults == ["it is in the group with id 0"])
    }

    @Test func `a thread that may gain privileges is a fault`() throws {
        let privileges = try #require(ThreadPrivileges(parsing: status(["NoNewPrivs": "0"])))
        #expect(privileges.faults == ["no-new-privs is not set"])
    }

    @Test(arguments: ["Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"])
    func `a missing or malformed line makes the whole unreadable`(name: String) {
        #expect(ThreadPrivileges(parsing: status([name: nil])) == nil)
        #expect(ThreadPrivileges(parsing: status([name: "none"])) == nil)
    }

    @Test func `the threads of this very process are read from the kernel`() throws {
        let threads = try OwnProcess.threads()
        #expect(threads.count >= 1)
        for thread in threads { #expect(thread.privileges.users.count == 4) }
    }

    /// The lines that matter of a status file of Linux 6.18, with other values, or without the line for nil.
    private func status(_ changes: [String: String?] = [:]) -> String {
        let lines: [(String, String)] = [
            ("Name", "tunnel-provider"), ("State", "S (sleeping)"), ("Uid", "61184\t61184\t61184\t61184"),
            ("Gid", "61184\t61184\t61184\t61184"), ("FDSize", "64"), ("Groups", "100 "),
            ("CapInh", "0000000000000000"), ("CapPrm", "0000000000000000"), ("CapEff", "0000000000000000"),
            ("CapBnd", "0000000000000000"), ("CapAmb", "0000000000000000"), ("NoNewPrivs", "1"), ("Seccomp", "0"),
        ]
        return lines.map { name, value in
            switch changes[name] {
            case .none: "\(name):\t\(value)\n"
            case .some(.none): ""
            case .some(.some(let other)): "\(name):\t\(other)\n"
            }
        }.joined()
    }
}
