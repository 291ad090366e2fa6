package import NetworkTypes
import Dispatch
import Glibc
import LinuxSystem
import Synchronization

/// Looks up names outside of all tunnels: its queries carry the mark of our outer packets.
///
/// By c-ares, because the sockets of getaddrinfo(3) can't be marked. /etc/hosts and whom to ask are read anew for each
/// name, so that a change counts at once.
package final class Resolver: Sendable {
    private let mark: UInt32
    private let underlay: Underlay
    private let slots: AsyncSlots

    /// Whom to ask for a host; nil: the servers of /etc/resolv.conf.
    package typealias Underlay = @Sendable (String) async throws(DNSError) -> UnderlayResolvers?

    /// - Parameters:
    ///   - mark: 0 to send without one, which takes no privilege.
    ///   - underlay: tells whom to ask.
    ///   - limit: look-ups at once; more wait for their turn.
    package init(
        mark: UInt32 = Ownership.outerMark,
        limit: Int = 16,
        underlay: @escaping Underlay = { _ in nil }
    ) {
        self.mark = mark
        self.underlay = underlay
        slots = AsyncSlots(limit)
    }

    /// - Parameter servers: always these.
    package convenience init(mark: UInt32 = Ownership.outerMark, servers: [Endpoint], limit: Int = 16) {
        self.init(mark: mark, limit: limit) { _ in UnderlayResolvers(servers: servers, searchDomains: []) }
    }

    /// The addresses of a host, the best first (RFC 6724), in at most five seconds from the look-up's turn.
    ///
    /// An address in text is its own answer, also with a zone: "fe80::1%eth0".
    /// - Throws: `cancelled` when the task was.
    package func lookUp(_ host: String, port: UInt16) async throws(ResolverError) -> [Endpoint] {
        if let literal = Endpoint(literal: host, port: port) { return [literal] }
        guard !Task.isCancelled else { throw .cancelled }
        await slots.take()
        defer { slots.give() }
        let resolvers: UnderlayResolvers?
        do throws(DNSError) {
            resolvers = try await underlay(host)
        } catch {
            throw .noResolver(error.description)
        }
        let query = try ResolverQuery(host, port: port, mark: mark, resolvers: resolvers)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A serial queue of its own: waiting in a concurrent one would hold up every other task of the process.
                DispatchQueue(label: "org.tunneld.resolver").async { continuation.resume(returning: query.run()) }
            }
        } onCancel: {
            query.cancel()
        }
        return try result.get()
    }
}

/// Why a name gave no address.
package enum ResolverError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The resolver says that there is no such name, or none with an address.
    case noSuchName
    /// No resolver could be asked, or it refused.
    case noResolver(String)
    /// No resolver answered.
    case timeout
    case cancelled
    /// Something else, in c-ares' words.
    case failed(String)

    /// Whether a resolver said so; else another may say something else, or the same one a little later.
    package var isAnswer: Bool { self == .noSuchName }

    package var description: String {
        switch self {
        case .noSuchName: "there is no such name"
        case .noResolver(let why): "no resolver could be asked: \(why)"
        case .timeout: "no resolver answered within five seconds"
        case .cancelled: "the look-up was cancelled"
        case .failed(let why): why
        }
    }
}

extension Endpoint {
    /// Reads "192.0.2.1:51820" or "[fe80::1%eth0]:51820", the zone by name or number.
    package init?(text: String) {
        if let endpoint = Endpoint(text) {
            self = endpoint
            return
        }
        guard text.utf8.first == UInt8(ascii: "["), let end = text.utf8.lastIndex(of: UInt8(ascii: "]")),
            let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), end < colon,
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        self.init(literal: String(text[text.index(after: text.startIndex)..<end]), port: port)
    }

    /// Reads an address in text, with a zone by name or number where it is link-local.
    ///
    /// Nil for everything else, also for a zone that no interface has.
    package init?(literal host: String, port: UInt16) {
        if let address = IPAddress(host) {
            self.init(address, port: port)
            return
        }
        guard let percent = host.utf8.firstIndex(of: UInt8(ascii: "%")),
            let address = IPv6Address(String(host[..<percent])), address.isLinkLocal
        else { return nil }
        let name = String(host[host.index(after: percent)...])
        let zone: UInt32
        if let number = UInt32(decimal: name) { zone = number } else { zone = unsafe if_nametoindex(name) }
        guard zone != 0 else { return nil }
        self.init(.v6(address), port: port, zone: zone)
    }
}

/// A counting gate for tasks.
private final class AsyncSlots: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }
    private let state: Mutex<State>

    init(_ count: Int) { state = Mutex(State(free: max(1, count))) }

    func take() async {
        await withCheckedContinuation { continuation in
            let goes = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if goes { continuation.resume() }
        }
    }

    func give() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
