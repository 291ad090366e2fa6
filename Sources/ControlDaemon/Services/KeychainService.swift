import ControlAPI
import Journal
import Keychain
import LinuxSystem
import VarlinkSocket

/// Answers `org.tunneld.Keychain`.
struct KeychainService: Sendable {
    let store: ConfigurationStore
    let keychain: Keychain
    let permission: Permission
    let log: Logger

    func register(_ service: inout VarlinkService) {
        service.on("\(KeychainCalls.interface).Reveal") { try await reveal($0) }
    }

    /// The one way out for secrets: to root, by memfd, and logged.
    private func reveal(_ request: VarlinkRequest) async throws {
        let parameters: KeychainCalls.RevealParameters = try request.parameters()
        let caller = Caller(request.caller)
        guard let configuration = await store.configuration(parameters.identifier),
            permission.maySee(configuration.owner, caller)
        else { throw ControlError.configurationUnknown(parameters.identifier) }
        let what = "reveal the secrets of \(configuration.name)"
        do throws(ControlError) {
            try await permission.check(.reveal, on: configuration.owner, by: caller, what)
        } catch {
            log.notice("User \(caller.user) may not \(what).", [.tunnelID(configuration.identifier)])
            throw error
        }
        let references = StoreContents.references(in: configuration)
        let bundle: SharedDescriptor
        do throws(KeychainError) {
            bundle = try keychain.sealedBundle(of: references, ownedBy: configuration.owner.user)
        } catch {
            throw ControlError(
                .secretUnavailable,
                "Can't \(what).",
                reason: error.description,
                remedy: "The configuration is unchanged. Mend the keychain, or import it again with its secrets."
            )
        }
        log.notice(
            "Revealed \(references.count) secrets of \(configuration.name) to user \(caller.user), process "
                + "\(request.caller.process).",
            [.tunnelID(configuration.identifier)]
        )
        try request.responder.reply(KeychainCalls.RevealReply(count: references.count), descriptors: [bundle])
    }
}
