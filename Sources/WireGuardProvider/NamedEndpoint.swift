package import NetworkTypes

/// An endpoint given by name: which of its addresses is called, and when the name is looked up again.
///
/// A name may have several addresses, and not every network reaches each: they are tried in turn, the next one whenever
/// the one in use doesn't answer, and after the last the name is looked up anew.
package struct NamedEndpoint: Equatable, Sendable {
    package let name: String
    package let port: UInt16

    private var addresses: [IPAddress] = []
    private var index = 0
    private var lookup = Lookup.needed

    private enum Lookup: Equatable {
        case needed
        case asked
        /// It failed so many times; the next comes at the instant.
        case failed(times: Int, again: Instant)
        case done
    }

    /// More addresses than a name usefully has; the rest is left out.
    static let maximumAddresses = 16

    package init(name: String, port: UInt16) {
        self.name = name
        self.port = port
    }

    /// The endpoint in use; nil before the name's first address is known.
    package var current: Endpoint? {
        addresses.indices.contains(index) ? Endpoint(addresses[index], port: port) : nil
    }

    /// When to look the name up; nil where nothing waits for a time.
    package var deadline: Instant? {
        switch lookup {
        case .needed: .zero
        case .failed(_, let again): again
        case .asked, .done: nil
        }
    }

    /// Whether to ask for the name now; it counts as asked then.
    package mutating func ask(now: Instant) -> Bool {
        guard let deadline, now >= deadline else { return false }
        if case .failed(let times, _) = lookup {
            lookup = .failed(times: times, again: .distantFuture)
        } else {
            lookup = .asked
        }
        return true
    }

    /// The endpoint in use doesn't answer, or can't be reached.
    ///
    /// - Returns: the next address; nil where there is none, and the name is to be looked up.
    package mutating func advance() -> Endpoint? {
        if index + 1 < addresses.count {
            index += 1
            return current
        }
        if lookup == .done { lookup = .needed }
        return nil
    }

    /// The name's addresses came.
    ///
    /// After a silence it is the next one behind the address that was in use, where the new list has it still.
    ///
    /// - Returns: what to call now; nil for an empty list, which is a failure.
    package mutating func resolved(_ list: [IPAddress], now: Instant) -> Endpoint? {
        var seen: Set<IPAddress> = []
        let list = list.filter { seen.insert($0).inserted }.prefix(Self.maximumAddresses)
        guard !list.isEmpty else {
            failed(now: now)
            return nil
        }
        let last = addresses.indices.contains(index) ? addresses[index] : nil
        // Beginning behind the last one, the list still is gone through whole before the next look-up.
        if let last, let position = list.firstIndex(of: last) {
            addresses = Array(list[(position + 1)...] + list[...position])
        } else {
            addresses = Array(list)
        }
        index = 0
        lookup = .done
        return current
    }

    /// The look-up failed; the next comes after 5 s, doubling to 60 s (design, section 3).
    package mutating func failed(now: Instant) {
        var times = 1
        if case .failed(let before, _) = lookup { times = before + 1 }
        let seconds = min(60, 5 << min(times - 1, 4))
        lookup = .failed(times: times, again: now + .seconds(seconds))
    }

    /// The network changed: a failed look-up comes at once, and so does one that was asked for on the old network.
    package mutating func networkChanged() {
        if case .failed = lookup { lookup = .needed }
    }

    /// Whether the last look-up failed, or never gave an address.
    package var isUnresolved: Bool {
        if case .failed = lookup { return true }
        return addresses.isEmpty && lookup == .done
    }
}
