/// What one thread may do, as its `/proc/<pid>/task/<tid>/status` states it (proc_pid_status(5)).
package struct ThreadPrivileges: Equatable, Sendable {
    /// Real, effective, saved and file-system user id.
    package let users: [UInt32]
    /// Real, effective, saved and file-system group id, then the supplementary groups.
    package let groups: [UInt32]
    /// The five capability sets by the names of the file: "CapEff".
    package let capabilities: [String: UInt64]
    package let hasNoNewPrivileges: Bool

    private static let capabilitySets = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]

    /// Reads the text of a status file; nil where one of the lines is missing or malformed.
    package init?(parsing text: String) {
        var fields: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon]] = line[line.index(after: colon)...]
        }
        func numbers(_ name: Substring, atLeast count: Int) -> [UInt32]? {
            guard let words = fields[name]?.split(whereSeparator: { $0 == "\t" || $0 == " " }) else { return nil }
            let values = words.compactMap { UInt32($0) }
            return values.count == words.count && values.count >= count ? values : nil
        }
        guard let users = numbers("Uid", atLeast: 4), let groups = numbers("Gid", atLeast: 4),
            let more = numbers("Groups", atLeast: 0), let noNewPrivileges = numbers("NoNewPrivs", atLeast: 1)
        else { return nil }
        var capabilities: [String: UInt64] = [:]
        for name in Self.capabilitySets {
            guard let digits = fields[Substring(name)]?.drop(while: { $0 == "\t" || $0 == " " }),
                let value = UInt64(digits, radix: 16)
            else { return nil }
            capabilities[name] = value
        }
        self.users = users
        self.groups = groups + more
        self.capabilities = capabilities
        hasNoNewPrivileges = noNewPrivileges[0] == 1
    }

    /// What a provider must not have (design, section 1): each fault in words; empty for a thread without any privilege.
    package var faults: [String] {
        var faults: [String] = []
        if users.contains(0) { faults.append("it runs as user id 0") }
        if groups.contains(0) { faults.append("it is in the group with id 0") }
        for name in Self.capabilitySets {
            if let value = capabilities[name], value != 0 {
                faults.append("its capability set \(name) is \(String(value, radix: 16)), not empty")
            }
        }
        if !hasNoNewPrivileges { faults.append("no-new-privs is not set") }
        return faults
    }
}
