/// Where tunneld keeps things; the variables are systemd's own (design, section 9).
package struct DaemonDirectories: Equatable, Sendable {
    /// Configurations and secrets: kept for good.
    package var state: String
    /// Sockets and what a crash must not lose: gone after a reboot.
    package var runtime: String
    /// What the administrator writes.
    package var configuration: String
    /// Where systemd puts credentials; nil where it has none for us.
    package var credentials: String?

    package init(state: String, runtime: String, configuration: String, credentials: String? = nil) {
        self.state = state
        self.runtime = runtime
        self.configuration = configuration
        self.credentials = credentials
    }

    /// - Parameter current: the folder that relative paths begin at.
    package init(environment: [String: String], current: String) {
        func folder(_ variable: String, _ standard: String) -> String {
            // systemd separates several by colons; the first is ours.
            guard let first = environment[variable]?.split(separator: ":").first.map(String.init) else {
                return standard
            }
            let path = first.hasPrefix("/") ? first : current + "/" + first
            return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        }
        self.init(
            state: folder("STATE_DIRECTORY", "/var/lib/tunneld"),
            runtime: folder("RUNTIME_DIRECTORY", "/run/tunneld"),
            configuration: folder("CONFIGURATION_DIRECTORY", "/etc/tunneld"),
            credentials: environment["CREDENTIALS_DIRECTORY"].flatMap { $0.isEmpty ? nil : $0 }
        )
    }

    package var configurations: String { state + "/configurations" }
    /// Earlier and present generations: `ID/GENERATION.json`.
    package var history: String { state + "/history" }
    /// What a save is about to do, and a crash has left.
    package var pending: String { state + "/pending" }
    /// The histories of configurations that are being removed.
    package var removed: String { state + "/removed" }
    /// When tunneld started tunnels with `startAtBoot` last.
    package var boots: [String] { [state + "/boot", runtime + "/boot"] }
    package var damaged: String { state + "/damaged" }
    package var keychain: String { state + "/keychain" }
    package var timestamps: String { state + "/timestamps" }
    /// Why the last session of a configuration ended, where that was by an error.
    package var lastErrors: String { state + "/last-errors" }
    package var controlSocket: String { runtime + "/control" }
    package var providers: String { runtime + "/providers" }
    package var journal: String { runtime + "/journal" }
    /// What is blocked, and for whom.
    package var block: String { runtime + "/block.json" }
    package var epoch: String { runtime + "/epoch" }
    package var settings: String { configuration + "/tunneld.conf" }
    /// The administrator's descriptors of providers.
    package var descriptors: String { configuration + "/providers" }
}
