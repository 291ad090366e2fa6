package import Journal

/// What tunneld's arguments say.
package struct DaemonOptions: Equatable, Sendable {
    package enum Launcher: String, Sendable { case auto, systemd, spawn }

    package enum Request: Equatable, Sendable {
        case run(DaemonOptions)
        case help
        case version
        /// Wrong usage, with what is wrong.
        case wrong(String)
    }

    package var launcher = Launcher.auto
    package var logLevel = LogLevel.notice
    /// Of the system bus, as the environment has it; nil for the standard one.
    package var busAddress: String?
    /// Folders with programs, as the environment has them; nil for where they are kept.
    package var programPath: String?

    package init() {}

    package static let usage = """
        Usage: tunneld [--launcher auto|systemd|spawn] [--log-level error|warning|notice|info|debug]
        Runs in the foreground and serves tunnelctl and other clients; needs root.
          --launcher   how tunnel providers are started (auto: what this machine offers)
          --log-level  how much is logged, to the journal or to standard error (notice)
          --help       print this
          --version    print the version
        Directories: STATE_DIRECTORY (/var/lib/tunneld), RUNTIME_DIRECTORY (/run/tunneld),
        CONFIGURATION_DIRECTORY (/etc/tunneld, with tunneld.conf), CREDENTIALS_DIRECTORY (with tunneld.host-key,
        32 bytes, which secrets are sealed under; else host-key in the state directory).

        """

    /// Reads the arguments behind the program's name.
    package static func parse(_ arguments: [String]) -> Request {
        var options = DaemonOptions()
        var rest = arguments[...]
        while let word = rest.popFirst() {
            // "--launcher=spawn" is "--launcher spawn".
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            switch parts[0] {
            case "--help", "-h": return .help
            case "--version": return .version
            case "--launcher", "--log-level":
                guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
                    return .wrong("\(parts[0]) needs a value.")
                }
                guard options.set(parts[0], value) else { return .wrong("\(parts[0]) can't be `\(value)`.") }
            default: return .wrong("There is no option `\(word)`.")
            }
        }
        return .run(options)
    }

    private mutating func set(_ option: String, _ value: String) -> Bool {
        if option == "--launcher" {
            guard let launcher = Launcher(rawValue: value) else { return false }
            self.launcher = launcher
        } else {
            guard let level = LogLevel(rawValue: value) else { return false }
            logLevel = level
        }
        return true
    }
}
