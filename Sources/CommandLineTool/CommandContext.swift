import ControlAPI
package import ControlClient
import Glibc

/// What a command works with: what was typed, where to print, tunneld, and the person's signals.
package struct CommandContext: Sendable {
    package let invocation: Invocation
    package let console: Console
    package let daemon: DaemonClient
    /// The descriptor of standard input.
    package let input: Int32
    package let environment: @Sendable (String) -> String?
    /// Yields at SIGINT and SIGTERM from the first call on; until then they end the program.
    package let interruptions: @Sendable () -> AsyncStream<Void>

    package init(
        invocation: Invocation,
        console: Console,
        daemon: DaemonClient,
        input: Int32,
        environment: @escaping @Sendable (String) -> String?,
        interruptions: @escaping @Sendable () -> AsyncStream<Void>
    ) {
        self.invocation = invocation
        self.console = console
        self.daemon = daemon
        self.input = input
        self.environment = environment
        self.interruptions = interruptions
    }

    /// The state of the configuration that the first word means.
    func findSession(prefixes: Bool = true) async throws -> SessionView {
        let found = try await find(prefixes: prefixes)
        guard let session = try await daemon.status(found.identifier).first else {
            throw ControlError(.configurationUnknown, "There is no configuration \"\(found.name)\" any more.")
        }
        return session
    }

    /// The stored configuration that the first word means.
    ///
    /// No provider is asked for it, so one that hangs holds up only what concerns itself.
    func findConfiguration(prefixes: Bool = true) async throws -> Configuration {
        try await daemon.load(try await find(prefixes: prefixes).identifier)
    }

    /// What the first word means, in short.
    func find(prefixes: Bool = true) async throws -> NameMatch.Candidate {
        let own = getuid()
        let candidates = try await daemon.list().map {
            NameMatch.Candidate(
                identifier: $0.identifier,
                name: $0.name,
                isOwn: $0.owner.user == own,
                owner: $0.owner.text
            )
        }
        do {
            return try NameMatch.find(invocation.operand(0), among: candidates, prefixes: prefixes)
        } catch let error as ControlError {
            throw await mentioningLost(error)
        }
    }

    /// That a configuration isn't there, with what can be done where it was lost.
    func mentioningLost(_ error: ControlError) async -> ControlError {
        let text = invocation.operand(0)
        guard error.name == .configurationUnknown,
            let lost = try? await daemon.lost().first(where: { $0.name == text || $0.identifier == text.lowercased() })
        else { return error }
        var error = error
        error.reason = "It is lost. \(lost.reason)"
        error.remedy =
            "`\(TunnelctlCommand.text("history", text))` shows the generations that can be restored; "
            + "`\(TunnelctlCommand.text("remove", text))` gives it up, and lifts the block where that stands for it."
        return error
    }

    /// Whose each configuration is, by identifier, where some have the same name; else nothing.
    func ownersWhereAlike(_ sessions: [SessionView]) async throws(ControlError) -> [String: String] {
        guard Set(sessions.map(\.name)).count < sessions.count else { return [:] }
        return Self.ownersWhereAlike(try await daemon.list())
    }

    static func ownersWhereAlike(_ entries: [SessionsCalls.Entry]) -> [String: String] {
        guard Set(entries.map(\.name)).count < entries.count else { return [:] }
        return Dictionary(entries.map { ($0.identifier, $0.owner.text) }, uniquingKeysWith: { $1 })
    }

    /// Saves a configuration.
    ///
    /// - Parameters:
    ///   - remedy: what to do where the name is taken; tunneld can't know what this command offers.
    ///   - hint: what to do where the name can't be used.
    func save(
        _ configuration: Configuration,
        generation: Int,
        secrets: NewSecrets? = nil,
        whereTaken remedy: String,
        whereRefused hint: String? = nil
    ) async throws(ControlError) -> ConfigurationsCalls.SaveReply {
        do {
            var saved = try await daemon.save(configuration, generation: generation, secrets: secrets)
            if generation > 0, saved.generation > generation, let reason = await reasonNotInForce(saved) {
                saved.warnings.append(reason)
            }
            return saved
        } catch {
            var error = error
            switch error.name {
            case .nameTaken: error.remedy = remedy
            case .configurationInvalid:
                if error.field == "name", let hint {
                    error.remedy = [error.remedy, hint].compactMap(\.self).joined(separator: " ")
                }
            case .configurationStale:
                error.message = "\(configuration.name) was changed by somebody else meanwhile; nothing was saved."
                let show = TunnelctlCommand.text("show", configuration.name)
                error.remedy = "See what it is now (`\(show)`), and run the command again."
            default: break
            }
            throw error
        }
    }

    /// The stored configuration of this name that belongs to the person who runs this; nil for none.
    func findOwn(named name: String) async throws(ControlError) -> Configuration? {
        let own = getuid()
        guard let found = try await daemon.list().first(where: { $0.name == name && $0.owner.user == own }) else {
            return nil
        }
        return try await daemon.load(found.identifier)
    }
}
