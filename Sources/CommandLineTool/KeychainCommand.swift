import ControlAPI
import ControlClient
import LinuxSystem
import TunnelCrypto

/// `keychain add|find|list|replace|remove`: secrets that configurations refer to.
struct KeychainCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitCode {
        let action = context.invocation.operand(0)
        guard let known = Action(rawValue: action) else {
            throw UsageError(
                "There is no \"keychain \(action)\".",
                hint: NearestName.hint(for: action, among: Action.allCases.map(\.rawValue))
                    ?? "There are \(Action.allCases.map(\.rawValue).joined(separator: ", "))."
            )
        }
        try check(known)
        switch known {
        case .add: try await add()
        case .find: try await find()
        case .list: try await list()
        case .replace: try await replace()
        case .remove: try await remove()
        }
        return .done
    }

    private enum Action: String, CaseIterable {
        case add, find, list, replace, remove

        var options: Set<Option> {
            switch self {
            case .add: [.kind, .file, .passwordFile, .base64, .scope]
            case .find: [.scope]
            case .list: []
            case .replace: [.file, .passwordFile, .base64, .scope, .name]
            case .remove: [.scope, .force]
            }
        }
    }

    private func check(_ action: Action) throws(UsageError) {
        let hasName = context.invocation.operands.count > 1
        guard hasName == (action != .list) else {
            throw UsageError(hasName ? "`keychain list` takes no name." : "NAME is missing.")
        }
        let global: Set<Option> = [.json, .socket, .help]
        for given in context.invocation.options where !action.options.union(global).contains(given.option) {
            throw UsageError("There is no option \(given.option.rawValue) of keychain \(action.rawValue).")
        }
    }

    private var name: String { context.invocation.operand(1) }

    // MARK: Actions

    private func add() async throws {
        let kind = try kind()
        let bundle = try bundle(kind, from: context.invocation.value(.file), isNew: true)
        let scope = try scope()
        let added = try await context.daemon.addItem(
            KeychainCalls.AddParameters(name: name, kind: kind, scope: scope),
            bundle: bundle
        )
        let document = AddDocument(
            reference: added.reference,
            name: name,
            kind: kind,
            scope: scope ?? .user,
            identity: added.identity
        )
        guard !context.console.json else { return try context.console.print(json: document) }
        try context.console.print("\(name, .bold) is kept as \(added.reference)")
        try tell(added.identity)
    }

    private func find() async throws {
        let item = try await item()
        guard !context.console.json else { return try context.console.print(json: item) }
        try context.console.print(StyledText(item.reference))
    }

    private func list() async throws {
        let items = try await context.daemon.listItems()
        guard !context.console.json else { return try context.console.print(json: items) }
        guard !items.isEmpty else {
            return try context.console.print("The keychain has no items. `tunnelctl keychain add NAME` adds one.")
        }
        var table = TextTable(["NAME", "KIND", "SCOPE", "USED BY", "REFERENCE"])
        for item in items {
            table.append([
                StyledText(item.shownName, .bold), StyledText(item.kind?.typed ?? "unknown"),
                StyledText(scopeText(item)),
                StyledText(item.usedBy.isEmpty ? "–" : item.usedBy.joined(separator: ", ")),
                StyledText(item.reference, .dim),
            ])
        }
        try context.console.print(table.lines)
        for item in items {
            if let problem = item.problem { try context.console.print("\(item.shownName, .bold): \(problem, .bad)") }
        }
    }

    private func replace() async throws {
        let item = try await item()
        let newName = context.invocation.value(.name)
        let file = context.invocation.value(.file)
        // With a new name alone the secret stays.
        guard let kind = item.kind else {
            throw ControlError(
                .secretUnavailable,
                "The item can't be replaced.",
                reason: item.problem,
                remedy: "Remove it, and add another one."
            )
        }
        let bundle = newName != nil && file == nil ? nil : try bundle(kind, from: file, isNew: true)
        let replaced = try await context.daemon.replaceItem(
            KeychainCalls.ReplaceParameters(reference: item.reference, name: newName),
            bundle: bundle
        )
        let document = AddDocument(
            reference: item.reference,
            name: newName ?? item.name,
            kind: kind,
            scope: item.scope,
            identity: replaced.identity
        )
        guard !context.console.json else { return try context.console.print(json: document) }
        try context.console.print("\(document.name, .bold) is replaced; it is still \(item.reference)")
        try tell(replaced.identity)
        if bundle != nil, !item.usedBy.isEmpty {
            context.console.note("Tunnels that run have the former secret until they are started again.")
        }
    }

    private func remove() async throws {
        // A reference is taken as it is, for its item may be one that can't be read.
        let found = name.hasPrefix("keychain:") ? nil : try await item()
        let reference = found?.reference ?? name
        try await context.daemon.removeItem(reference, force: context.invocation.has(.force))
        if context.console.json {
            try context.console.print(json: RemoveDocument(reference: reference, name: found?.name))
        } else {
            try context.console.print("\(found?.name ?? reference, .bold) is removed.")
        }
    }

    // MARK: Pieces

    /// The item that NAME means: a name, or a reference.
    private func item() async throws -> KeychainCalls.Item {
        guard name.hasPrefix("keychain:") else {
            return try await context.daemon.findItem(KeychainCalls.FindParameters(name: name, scope: try scope()))
        }
        guard let item = try await context.daemon.listItems().first(where: { $0.reference == name }) else {
            throw ControlError(
                .notFound,
                "There is no such keychain item.",
                remedy: "tunnelctl keychain list shows those that there are."
            )
        }
        return item
    }

    private func kind() throws(UsageError) -> SecretKind {
        guard let typed = context.invocation.value(.kind) else { return .password }
        guard let kind = SecretKind(typed: typed) else {
            throw UsageError("--kind takes password, shared-secret, private-key or identity.")
        }
        return kind
    }

    private func scope() throws(UsageError) -> KeychainCalls.Scope? {
        guard let typed = context.invocation.value(.scope) else { return nil }
        guard let scope = KeychainCalls.Scope(rawValue: typed) else {
            throw UsageError("--scope takes user or system.")
        }
        return scope
    }

    /// Reads the secret and puts it into a memfd.
    private func bundle(_ kind: SecretKind, from path: String?, isNew: Bool) throws -> SharedDescriptor {
        let input = SecretInput(input: context.input, console: context.console)
        if kind == .identity { return try identityBundle(input, path) }
        if context.invocation.has(.passwordFile) { throw UsageError("--password-file is for identities.") }
        let given = try input.read(from: path, prompt: kind.prompt, isNew: isNew)
        return try SecretEnvelope.seal(try secret(SecretInput.withoutNewline(given), kind), password: nil)
    }

    private func identityBundle(_ input: SecretInput, _ path: String?) throws -> SharedDescriptor {
        guard let path else { throw UsageError("An identity comes from a PKCS#12 file.", hint: "Add --file FILE.") }
        if context.invocation.has(.base64) { throw UsageError("--base64 isn't for identities.") }
        let passwordFile = context.invocation.value(.passwordFile)
        if path == "-", passwordFile == nil || passwordFile == "-" {
            throw UsageError("Standard input can't hold both the file and its password.", hint: "Add --password-file.")
        }
        let data = try input.read(from: path, prompt: "PKCS#12", isNew: false)
        let password = try input.read(from: passwordFile, prompt: "Password of the PKCS#12 file", isNew: false)
        return try SecretEnvelope.seal(data, password: SecretInput.withoutNewline(password))
    }

    /// A key of WireGuard is written in base64; so is whatever the person says is.
    private func secret(_ text: consuming SecretBytes, _ kind: SecretKind) throws -> SecretBytes {
        let isKey = kind == .privateKey && text.count == 44
        guard isKey || context.invocation.has(.base64) else { return text }
        if let decoded = SecretBytes(base64: text.bytes), !isKey || decoded.count == 32 { return decoded }
        guard context.invocation.has(.base64) else { return text }
        throw ControlError(.invalidParameter, "The secret isn't base64; nothing was kept.")
    }

    private func tell(_ identity: KeychainCalls.Identity?) throws {
        guard let identity else { return }
        try context.console.print("Certificate: \(identity.subject), valid until \(identity.notAfter)")
    }

    private func scopeText(_ item: KeychainCalls.Item) -> String {
        item.scope == .system ? "system" : "user \(item.user)"
    }
}

private struct AddDocument: Encodable {
    let reference: String
    let name: String
    let kind: SecretKind
    let scope: KeychainCalls.Scope
    let identity: KeychainCalls.Identity?
}

extension KeychainCalls.Item {
    fileprivate var shownName: String { name.isEmpty ? "(unreadable)" : name }
}

private struct RemoveDocument: Encodable {
    let reference: String
    let name: String?
}

extension SecretKind {
    /// As a person types it.
    fileprivate var typed: String {
        switch self {
        case .password: "password"
        case .sharedSecret: "shared-secret"
        case .privateKey: "private-key"
        case .identity: "identity"
        }
    }

    /// Reads what a person types, or what the interface calls it.
    fileprivate init?(typed: String) {
        let all: [SecretKind] = [.password, .sharedSecret, .privateKey, .identity]
        guard let kind = all.first(where: { $0.typed == typed || $0.rawValue == typed }) else { return nil }
        self = kind
    }

    fileprivate var prompt: String {
        switch self {
        case .password: "Password"
        case .sharedSecret: "Shared secret"
        case .privateKey: "Private key"
        case .identity: "Identity"
        }
    }
}
