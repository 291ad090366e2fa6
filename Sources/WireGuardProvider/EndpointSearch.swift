package import NetworkTypes

/// Where a peer with a configured endpoint is looked for: which of its addresses is called, and when its name is looked up.
///
/// A name may have several addresses, and not every network reaches each; a peer may have moved, or moved back. So
/// whenever the address in use doesn't answer it is the next one's turn: those of the name, then the one that was learned
/// last, and behind the last one the name is looked up anew.
package struct EndpointSearch: Equatable, Sendable {
    package enum Origin: Equatable, Sendable {
        case name(String, port: UInt16)
        case address(Endpoint)
        /// A link-local address beyond an interface, which may come, go, and come back with another number.
        case zoned(IPAddress, interface: String, port: UInt16)
    }

    package let origin: Origin

    /// Those of the name, or the configured one; none while its interface isn't there.
    private var configured: [Endpoint] = []
    /// One that an authentic packet came from, and that isn't among the configured.
    private var learned: Endpoint?
    private var index = 0
    private var lookup = Lookup.needed
    /// Whether the look-up that is wanted or under way is made though nothing speaks against the address in use.
    private var isRefresh = false
    /// Since when no resolver could be asked; nil where the last look-up was answered.
    private var unaskedSince: Instant?

    private enum Lookup: Equatable {
        case needed
        case asked(failures: Int, at: Instant)
        case failed(times: Int, again: Instant)
        case done
    }

    /// More addresses than a name usefully has; the rest is left out.
    private static let maximumAddresses = 16

    package init(_ origin: Origin) {
        self.origin = origin
        if case .address(let endpoint) = origin {
            configured = [endpoint]
            lookup = .done
        }
    }

    /// The name to look up; nil for an address.
    package var name: String? {
        if case .name(let name, _) = origin { return name }
        return nil
    }

    /// The interface to look for; nil for what has no zone.
    package var interface: String? {
        if case .zoned(_, let interface, _) = origin { return interface }
        return nil
    }

    /// The endpoint in use; nil before the first is known.
    package var current: Endpoint? { candidates.indices.contains(index) ? candidates[index] : nil }

    /// Those of the name, or the configured one.
    package var addresses: Set<IPAddress> { Set(configured.map(\.address)) }

    /// When to look the name up, or for the interface; nil where nothing waits for a time.
    package var deadline: Instant? {
        switch lookup {
        case .needed: .zero
        case .failed(_, let again): again
        case .asked, .done: nil
        }
    }

    /// Whether the last look-up of the name, or for the interface, failed.
    package var isUnresolved: Bool {
        switch lookup {
        case .failed: true
        case .asked(let failures, _): failures > 0
        case .needed, .done: false
        }
    }

    /// Since when the first look-up of the name since the network changed is under way, while nothing else is known of where the peer is.
    package var firstLookUpBegan: Instant? {
        guard name != nil, current == nil, case .asked(failures: 0, let began) = lookup else { return nil }
        return began
    }

    /// Whether to ask for the name or interface now; it counts as asked then.
    package mutating func ask(now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        if case .failed(let times, _) = lookup {
            lookup = .asked(failures: times, at: now)
        } else {
            lookup = .asked(failures: 0, at: now)
        }
        return true
    }

    /// The endpoint in use doesn't answer, or can't be reached.
    ///
    /// - Returns: the next; nil where there is no other until the name has been looked up.
    package mutating func advance() -> Endpoint? {
        if index + 1 < candidates.count {
            index += 1
            return current
        }
        switch origin {
        case .name:
            isRefresh = false
            if lookup == .done { lookup = .needed }
            return nil
        // An interface has one number, so it is begun anew at once.
        case .zoned: if lookup == .done { lookup = .needed }
        case .address: break
        }
        guard candidates.count > 1 else { return nil }
        index = 0
        return current
    }

    /// Whether `advance` would give another without a look-up or beginning anew.
    package var hasNext: Bool { index + 1 < candidates.count }

    /// The name's addresses came.
    ///
    /// After a silence it is the next one behind the address that was in use, where the new list has it still.
    ///
    /// - Parameters:
    ///   - preferred: the one that is called first where it is in the list, unless another has just been silent.
    ///   - isAnswer: of an empty list: whether a resolver said so.
    /// - Returns: what to call now; nil for an empty list, which is a failure.
    package mutating func resolved(
        _ list: [IPAddress],
        preferred: IPAddress? = nil,
        isAnswer: Bool = true,
        now: Instant
    ) -> Endpoint? {
        guard case .name(_, let port) = origin else { return nil }
        var seen: Set<IPAddress> = []
        let endpoints = list.filter { seen.insert($0).inserted }.prefix(Self.maximumAddresses)
            .map { Endpoint($0, port: port) }
        guard !endpoints.isEmpty else {
            failed(isAnswer: isAnswer, now: now)
            return nil
        }
        unaskedSince = nil
        let last = current
        // One that was learned stays for as long as it works, whatever the name says.
        if isRefresh, let last, last == learned, !endpoints.contains(last) {
            isRefresh = false
            configured = endpoints
            index = endpoints.count
            lookup = .done
            return last
        }
        // Beginning behind the last one, the list still is gone through whole before the next look-up.
        if let last, let position = endpoints.firstIndex(of: last) {
            let first = isRefresh ? position : position + 1
            configured = Array(endpoints[first...] + endpoints[..<first])
        } else {
            configured = endpoints
            if let position = endpoints.firstIndex(where: { $0.address == preferred }) {
                configured.remove(at: position)
                configured.insert(endpoints[position], at: 0)
            }
        }
        if let learned, configured.contains(learned) { self.learned = nil }
        index = 0
        lookup = .done
        isRefresh = false
        return current
    }

    /// The interface has been looked for.
    ///
    /// - Parameter number: nil where it isn't there.
    /// - Returns: what to call now, if that is another than before.
    package mutating func found(interface number: UInt32?, now: Instant) -> Endpoint? {
        guard case .zoned(let address, _, let port) = origin else { return nil }
        guard let number else {
            // The number that it had may become another's.
            configured = []
            index = 0
            failed(now: now)
            return nil
        }
        lookup = .done
        let endpoint = Endpoint(address, port: port, zone: number)
        guard endpoint != configured.first else { return nil }
        configured = [endpoint]
        if learned == endpoint { learned = nil }
        index = 0
        return endpoint
    }

    /// Whether the last look-up found nothing.
    var hasFailed: Bool { if case .failed = lookup { true } else { false } }

    /// The look-up failed; the next comes after 5 s, doubling to 60 s (design, section 3).
    ///
    /// - Parameter isAnswer: false where nobody could be asked or none answered, as it is at boot: the resolver may be there
    ///   any moment, and is looked for every 2 s in the first minute.
    package mutating func failed(isAnswer: Bool = true, now: Instant) {
        let since = unaskedSince ?? now
        unaskedSince = isAnswer ? nil : since
        if !isAnswer, now < since + .seconds(60) {
            lookup = .failed(times: 1, again: now + .seconds(2))
            return
        }
        var times = 1
        if case .asked(let failures, _) = lookup { times = failures + 1 }
        let seconds = min(60, 5 << min(times - 1, 4))
        lookup = .failed(times: times, again: now + .seconds(seconds))
    }

    /// The network changed: a look-up that failed comes again at once.
    ///
    /// - Parameter isOther: whether it may be another one, where the name may stand for other addresses.
    package mutating func networkChanged(isOther: Bool) {
        if case .failed = lookup { lookup = .needed }
        if isOther { refresh() }
        // The interface may be another one of the same name.
        if interface != nil, lookup == .done { lookup = .needed }
    }

    /// Nobody knows any more whether the addresses are still right: they are looked up again, and the one in use stays where
    /// it is still among them.
    package mutating func refresh() {
        networkChanged(isOther: false)
        guard name != nil, lookup == .done else { return }
        lookup = .needed
        isRefresh = true
    }

    /// The peer answers, so its name can wait until it doesn't.
    package mutating func answered() {
        guard current != nil else { return }
        switch lookup {
        case .needed, .failed: lookup = .done
        case .asked, .done: break
        }
    }

    /// An authentic packet came from this endpoint, so it is the one in use.
    package mutating func learn(_ endpoint: Endpoint) {
        if let position = configured.firstIndex(of: endpoint) {
            index = position
            if learned == endpoint { learned = nil }
        } else {
            learned = endpoint
            index = configured.count
        }
    }

    private var candidates: [Endpoint] { configured + (learned.map { [$0] } ?? []) }
}
