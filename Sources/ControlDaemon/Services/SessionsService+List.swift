import ControlAPI
import VarlinkSocket

/// All configurations: in short, or with their state.
extension SessionsService {
    /// So many stand in one reply where there may be several: some 200 KB.
    private static let entriesPerReply = 1000
    private static let viewsPerReply = 200

    func status(_ request: VarlinkRequest) async throws {
        let parameters: SessionsCalls.StatusParameters = try request.parameters()
        let caller = Caller(request.caller)
        if let identifier = parameters.identifier {
            let configuration = try await visible(identifier, to: caller)
            var view = await view(configuration)
            // Told before a start fails for it; of one configuration only, for each item is opened.
            if view.session == nil, let fault = store.secretFault(of: configuration) {
                view.notes.append("secretUnavailable: \(fault.reason ?? fault.message) \(fault.remedy ?? "")")
            }
            return try request.responder.reply(SessionsCalls.StatusReply(sessions: [view]))
        }
        let all = await store.configurations().filter { permission.maySee($0.owner, caller) }
        try await reply(await views(all), perReply: Self.viewsPerReply, request.responder) {
            SessionsCalls.StatusReply(sessions: $0)
        }
    }

    func list(_ request: VarlinkRequest) async throws {
        let caller = Caller(request.caller)
        let running = await tunnels.allExisting()
        let all = await store.configurations().filter { permission.maySee($0.owner, caller) }
        let seen = await views(all.filter { running[$0.identifier] != nil })
        let statuses = Dictionary(seen.map { ($0.identifier, $0.status) }, uniquingKeysWith: { $1 })
        let entries = all.map {
            SessionsCalls.Entry(
                identifier: $0.identifier,
                name: $0.name,
                owner: $0.owner,
                enabled: $0.enabled,
                status: statuses[$0.identifier] ?? .disconnected
            )
        }
        try await reply(entries, perReply: Self.entriesPerReply, request.responder) {
            SessionsCalls.ListReply(entries: $0)
        }
    }

    /// All in one reply, or, where the client takes more, in several.
    private func reply<Element>(
        _ elements: [Element],
        perReply count: Int,
        _ responder: Responder,
        _ make: ([Element]) -> some Encodable & Sendable
    ) async throws {
        var rest = elements[...]
        while responder.wantsMore, rest.count > count {
            try responder.send(make(Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
            if responder.queuedBytes > 256 << 10 { await responder.drained() }
        }
        try responder.reply(make(Array(rest)))
    }
}
