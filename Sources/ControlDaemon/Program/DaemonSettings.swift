package import NetworkTypes

/// The administrator's settings: `tunneld.conf`, lines of `key = value`.
package struct DaemonSettings: Equatable, Sendable {
    /// Whether every user may start and change their own configurations without being in the group `tunneld`.
    package var allowsAllUsers = false
    /// How long a tunnel may take to get ready.
    package var startTimeout = Interval.seconds(60)
    /// Whether a tunnel goes on without its name servers where there is no way to put them in force.
    package var dnsIsOptional = false

    package init() {}

    /// What is wrong with the file.
    package struct Fault: Error, Equatable, Sendable, CustomStringConvertible {
        package let line: Int
        package let message: String

        package var description: String { "line \(line): \(message)" }
    }

    /// Reads the file's text; an empty one gives the standard settings.
    package init(parsing text: String) throws(Fault) {
        // By Character, for CR and LF together are one.
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let content = line.prefix { $0 != "#" }.trimmed
            if content.isEmpty { continue }
            guard let equals = content.firstIndex(of: "=") else {
                throw Fault(line: index + 1, message: "expected `key = value`.")
            }
            let key = content[..<equals].trimmed
            let value = content[content.index(after: equals)...].trimmed
            do throws(Message) {
                try set(key, value)
            } catch {
                throw Fault(line: index + 1, message: error.text)
            }
        }
    }

    private struct Message: Error { let text: String }

    private mutating func set(_ key: String, _ value: String) throws(Message) {
        switch key {
        case "users":
            guard value == "allow" || value == "group" else {
                throw Message(text: "`users` is `allow` (every user) or `group` (members of tunneld).")
            }
            allowsAllUsers = value == "allow"
        case "start-timeout":
            guard let seconds = UInt16(value), (1...3600).contains(seconds) else {
                throw Message(text: "`start-timeout` is a number of seconds, 1 to 3600.")
            }
            startTimeout = .seconds(Int(seconds))
        case "dns":
            guard value == "refuse" || value == "optional" else {
                throw Message(
                    text: "`dns` is `refuse` (a tunnel whose name servers can't be put in force doesn't start) or "
                        + "`optional` (it goes on without them)."
                )
            }
            dnsIsOptional = value == "optional"
        default:
            throw Message(
                text: "there is no setting `\(key.prefix(64))`; there are `users`, `start-timeout` and `dns`."
            )
        }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        let start = drop { $0 == " " || $0 == "\t" || $0 == "\r" }
        return String(start.reversed().drop { $0 == " " || $0 == "\t" || $0 == "\r" }.reversed())
    }
}
