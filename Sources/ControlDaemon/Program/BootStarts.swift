import ControlAPI
import Journal

/// Starts the configurations with `startAtBoot`, once after each start of the machine.
struct BootStarts: Sendable {
    let store: ConfigurationStore
    let catalogue: ProviderCatalogue
    let tunnels: Tunnels
    let log: Logger

    func run(_ mark: BootMark) async {
        guard mark.isFirstStart else { return }
        for configuration in await store.configurations() where configuration.enabled && configuration.startAtBoot {
            await start(configuration)
        }
        // Only now: a crash before this tries again those that don't run.
        do { try mark.set() } catch {
            log.warning(
                "The start of the machine can't be remembered, so the next tunneld starts tunnels again: \(error)"
            )
        }
    }

    private func start(_ configuration: Configuration) async {
        do {
            if let provider = configuration.provider { _ = try await catalogue.descriptor(provider.identifier) }
            _ = try await tunnels.tunnel(of: configuration).start(configuration)
            log.notice("\(configuration.name) is started, for the machine was.", [.tunnelID(configuration.identifier)])
            for note in ConfigurationNotes.notInForce(configuration) {
                log.warning("\(configuration.name): \(note)", [.tunnelID(configuration.identifier)])
            }
        } catch {
            log.error(
                "\(configuration.name) can't be started: \(error.message) \(error.reason ?? "")",
                [.tunnelID(configuration.identifier)]
            )
        }
    }
}
