import ControlAPI
import Journal
import Keychain
import LinuxSystem
import VarlinkCore
import VarlinkSocket

/// Answers `org.tunneld.Keychain`.
struct KeychainService: Sendable {
    let store: ConfigurationStore
    let keychain: Keychain
    let permission: Permission
    let log: Logger

    func register(_ service: inout VarlinkService) {
        let interface = KeychainCalls.interface
        service.on("\(interface).Add") { try await add($0, $1) }
        service.on("\(interface).Find") { try await find($0, $1) }
        service.on("\(interface).Replace") { try await replace($0, $1) }
        service.on("\(interface).Remove") { try await remove($0, $1) }
        service.on("\(interface).List") { try await list($0) }
        service.on("\(interface).Reveal") { try await reveal($0) }
    }

    private func add(
        _ parameters: KeychainCalls.AddParameters,
        _ request: VarlinkRequest
    ) async throws -> KeychainCalls.AddReply {
        let caller = Caller(request.caller)
        let what = "add the keychain item"
        guard let kind = SecretKind(rawValue: parameters.kind) else {
            throw wrong("kind", what, "It should be password, sharedSecret, privateKey or identity.")
        }
        let owner = try owner(parameters.scope, parameters.user, caller, what) ?? caller.user
        try await permission.check(.change, on: .init(user: owner), by: caller, thing: "keychain item", what)
        let secret = try secret(in: request, kind, what)
        let header = ItemHeader(owner: owner, kind: kind, label: parameters.name)
        let reference = try await store.addItem(secret, as: header)
        log.info("User \(caller.user) added \(reference), a secret of kind \(kind.rawValue) of user \(owner).")
        return KeychainCalls.AddReply(reference: reference.description, identity: secret.identity)
    }

    private func find(
        _ parameters: KeychainCalls.FindParameters,
        _ request: VarlinkRequest
    ) async throws -> KeychainCalls.FindReply {
        let caller = Caller(request.caller)
        let what = "find the keychain item"
        let owner = try owner(parameters.scope, parameters.user, caller, what)
        let named = try await items(for: caller).filter { $0.name == parameters.name }
        for user in owner.map({ [$0] }) ?? [caller.user, 0] {
            let found = named.filter { $0.user == Int(user) }
            guard found.count < 2 else {
                throw ControlError(
                    .invalidParameter,
                    "Can't \(what): more than one has this name.",
                    remedy: "tunnelctl keychain list shows their references.",
                    field: "name"
                )
            }
            if let item = found.first { return KeychainCalls.FindReply(item: item) }
        }
        throw ControlError.itemUnknown(what)
    }

    private func replace(
        _ parameters: KeychainCalls.ReplaceParameters,
        _ request: VarlinkRequest
    ) async throws -> KeychainCalls.ReplaceReply {
        let caller = Caller(request.caller)
        let what = "replace the keychain item"
        let (reference, old) = try await changeable(parameters.reference, by: caller, what)
        let hasSecret = !request.descriptors.isEmpty
        guard hasSecret || parameters.name != nil else {
            throw wrong("name", what, "Neither a new secret nor a new name came with the call.")
        }
        let secret = hasSecret ? try secret(in: request, old.kind, what) : nil
        let header = ItemHeader(
            owner: old.owner,
            kind: old.kind,
            label: parameters.name ?? old.label,
            isPartOfConfiguration: old.isPartOfConfiguration
        )
        try await store.replaceItem(reference, with: secret, as: header)
        log.info("User \(caller.user) replaced \(reference).")
        return KeychainCalls.ReplaceReply(identity: secret?.identity)
    }

    private func remove(
        _ parameters: KeychainCalls.RemoveParameters,
        _ request: VarlinkRequest
    ) async throws -> NoParameters {
        let caller = Caller(request.caller)
        let reference = try await removable(parameters.reference, by: caller, "remove the keychain item")
        try await store.removeItem(reference, isForced: parameters.force ?? false)
        log.info("User \(caller.user) removed \(reference).")
        return NoParameters()
    }

    private func list(_ request: VarlinkRequest) async throws {
        let items = try await items(for: Caller(request.caller))
        guard request.responder.wantsMore else {
            return try request.responder.reply(KeychainCalls.ListReply(items: items))
        }
        var rest = items[...]
        while rest.count > Self.itemsPerReply {
            let part = KeychainCalls.ListReply(items: Array(rest.prefix(Self.itemsPerReply)))
            try request.responder.send(part)
            rest = rest.dropFirst(Self.itemsPerReply)
            if request.responder.queuedBytes > 256 << 10 { await request.responder.drained() }
        }
        try request.responder.reply(KeychainCalls.ListReply(items: Array(rest)))
    }

    private static let itemsPerReply = 256

    // MARK: Reveal

    /// The one way out for secrets: to root, by memfd, and logged.
    private func reveal(_ request: VarlinkRequest) async throws {
        let parameters: KeychainCalls.RevealParameters = try request.parameters()
        let caller = Caller(request.caller)
        switch (parameters.identifier, parameters.reference) {
        case (let identifier?, nil):
            guard let configuration = await store.configuration(identifier),
                permission.maySee(configuration.owner, caller)
            else { throw ControlError.configurationUnknown(identifier) }
            try await reveal(
                StoreContents.references(in: configuration),
                of: configuration.owner,
                "reveal the secrets of \(configuration.name)",
                to: request,
                [.tunnelID(configuration.identifier)]
            )
        case (nil, let text?):
            let what = "reveal the keychain item"
            let (reference, header) = try visible(text, to: caller, what)
            try await reveal([reference], of: .init(user: header.owner), "\(what) \(reference)", to: request, [])
        default:
            throw wrong("identifier", "reveal secrets", "It takes either an identifier or a reference.")
        }
    }

    private func reveal(
        _ references: Set<ItemReference>,
        of owner: Configuration.Owner,
        _ what: String,
        to request: VarlinkRequest,
        _ fields: [LogField]
    ) async throws {
        let caller = Caller(request.caller)
        do throws(ControlError) {
            try await permission.check(.reveal, on: owner, by: caller, what)
        } catch {
            log.notice("User \(caller.user) may not \(what).", fields)
            throw error
        }
        let bundle: SharedDescriptor
        do throws(KeychainError) {
            bundle = try keychain.sealedBundle(of: references, ownedBy: owner.user)
        } catch {
            throw ControlError(
                .secretUnavailable,
                "Can't \(what).",
                reason: error.sentence,
                remedy: "Nothing was changed. \(error.remedy)"
            )
        }
        log.notice("User \(caller.user), process \(request.caller.process): \(what) (\(references.count)).", fields)
        try request.responder.reply(KeychainCalls.RevealReply(count: references.count), descriptors: [bundle])
    }

    // MARK: Pieces

    /// Whose items are meant; nil where the caller left it open.
    private func owner(
        _ scope: String?,
        _ user: Int?,
        _ caller: Caller,
        _ what: String
    ) throws(ControlError) -> UInt32? {
        if let scope, KeychainCalls.Scope(rawValue: scope) == nil {
            throw wrong("scope", what, "It should be user or system.")
        }
        guard let user else { return scope.map { $0 == KeychainCalls.Scope.system.rawValue ? 0 : caller.user } }
        guard let number = UInt32(exactly: user), scope != KeychainCalls.Scope.system.rawValue || number == 0 else {
            throw wrong("user", what, "It should be a user's id; the system's is 0.")
        }
        guard caller.isRoot || number == caller.user || number == 0 else {
            throw ControlError(
                .permissionDenied,
                "Can't \(what) of another user.",
                reason: "User \(caller.user) isn't root.",
                remedy: "Do it as root, for example with sudo.",
                field: "user"
            )
        }
        return number
    }

    private func secret(
        in request: VarlinkRequest,
        _ kind: SecretKind,
        _ what: String
    ) throws(ControlError) -> CheckedSecret {
        guard let file = request.descriptors.first else {
            throw wrong("secret", what, "No memfd with a bundle of secrets came with the call.")
        }
        do throws(KeychainError) {
            let bundle = try PendingSecrets(readingBundle: file)
            let label = KeychainCalls.secretLabel
            let known = kind == .identity ? [label, KeychainCalls.passwordLabel(of: label)] : [label]
            guard bundle.labels.isSubset(of: known) else {
                throw KeychainError.malformedBundle("it holds more than a secret of this kind has")
            }
            return try Keychain.checkedSecret(label, of: bundle, kind: kind, now: WallClockTime.now().seconds)
        } catch {
            throw ControlError(error, what)
        }
    }

    /// Root may remove one too that can't be read.
    private func removable(_ text: String, by caller: Caller, _ what: String) async throws(ControlError)
        -> ItemReference
    {
        do throws(ControlError) {
            return try await changeable(text, by: caller, what).0
        } catch {
            guard caller.isRoot, error.name == .secretUnavailable, let reference = ItemReference(text) else {
                throw error
            }
            return reference
        }
    }

    private func changeable(
        _ text: String,
        by caller: Caller,
        _ what: String
    ) async throws(ControlError) -> (ItemReference, ItemHeader) {
        let found = try visible(text, to: caller, what)
        try await permission.check(.change, on: .init(user: found.1.owner), by: caller, thing: "keychain item", what)
        return found
    }

    /// An item that the caller may know of; of one that can't be read, only root.
    private func visible(
        _ text: String,
        to caller: Caller,
        _ what: String
    ) throws(ControlError) -> (ItemReference, ItemHeader) {
        guard let reference = ItemReference(text) else { throw .itemUnknown(what) }
        let header: ItemHeader
        do throws(KeychainError) {
            header = try keychain.claimedHeader(of: reference)
        } catch {
            guard caller.isRoot, error.mayPass else { throw .itemUnknown(what) }
            throw ControlError(error, what)
        }
        guard permission.maySee(.init(user: header.owner), caller) else { throw .itemUnknown(what) }
        return (reference, header)
    }

    private func items(for caller: Caller) async throws(ControlError) -> [KeychainCalls.Item] {
        let users = await store.itemUsers()
        let references: Set<ItemReference>
        do throws(KeychainError) {
            references = try keychain.references()
        } catch {
            throw ControlError(error, "list the keychain items")
        }
        let items = references.map { item($0, users[$0]) }
        return items.filter { permission.maySee(.init(user: UInt32(clamping: $0.user)), caller) }
            .sorted { ($0.name, $0.user, $0.reference) < ($1.name, $1.user, $1.reference) }
    }

    /// One that can't be read is shown all the same: to the owner of the configurations that refer to it, else to root.
    private func item(_ reference: ItemReference, _ users: ConfigurationStore.ItemUsers?) -> KeychainCalls.Item {
        var header: ItemHeader?
        var problem: String?
        do throws(KeychainError) {
            header = try? keychain.claimedHeader(of: reference)
            _ = try keychain.header(of: reference, ownedBy: nil)
        } catch {
            problem = error.sentence
        }
        return KeychainCalls.Item(
            reference: reference.description,
            name: header?.label ?? "",
            kind: header?.kind,
            user: Int(header?.owner ?? users?.owner ?? Self.nobody),
            partOfConfiguration: header?.isPartOfConfiguration ?? (users != nil),
            usedBy: users?.names ?? [],
            problem: problem
        )
    }

    /// Whom the kernel takes for no user (setreuid(2)).
    private static let nobody = UInt32.max

    private func wrong(_ field: String, _ what: String, _ reason: String) -> ControlError {
        ControlError(.invalidParameter, "Can't \(what).", reason: reason, field: field)
    }
}
