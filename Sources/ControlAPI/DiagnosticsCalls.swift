/// Replies of `org.tunneld.Diagnostics`.
package enum DiagnosticsCalls {
    package static let interface = "org.tunneld.Diagnostics"

    package struct DoctorReply: Codable, Sendable {
        package var findings: [Finding]
        package init(findings: [Finding]) { self.findings = findings }
    }
}

/// What a check of the machine found.
package struct Finding: Codable, Equatable, Sendable {
    /// A stable name: "tun-device".
    package var check: String
    package var level: Level
    /// What was found, in one sentence.
    package var message: String
    /// How to mend it; null where nothing is wrong.
    package var remedy: String?

    package enum Level: String, Codable, Sendable { case ok, note, warning, problem }

    package init(check: String, level: Level, message: String, remedy: String? = nil) {
        self.check = check
        self.level = level
        self.message = message
        self.remedy = remedy
    }
}
