import CAres
import Glibc
import LinuxSystem
import NetworkTypes
import Synchronization

/// One look-up, with a c-ares channel of its own.
///
/// `run` uses the channel on the thread that calls it and no other touches it; `cancel` may come from anywhere.
final class ResolverQuery: Sendable {
    private let host: String
    private let port: UInt16
    private let mark: UInt32
    private let resolvers: UnderlayResolvers?
    private let wake: EventDescriptor
    private let isCancelled = Atomic(false)

    /// All in all; a name that takes longer is as good as none.
    private static let limit = Interval.seconds(5)
    /// For a server's first answer; c-ares doubles it for the next try.
    private static let firstTryMilliseconds: Int32 = 1_500
    private static let tries: Int32 = 2

    init(_ host: String, port: UInt16, mark: UInt32, resolvers: UnderlayResolvers?) throws(ResolverError) {
        // RFC 1035, section 2.3.4: a name has at most 255 bytes on the wire, 253 in text.
        guard (1...253).contains(host.utf8.count), !host.utf8.contains(0) else { throw .noSuchName }
        self.host = host
        self.port = port
        self.mark = mark
        self.resolvers = resolvers
        do throws(SystemError) {
            wake = try EventDescriptor()
        } catch {
            throw .failed("\(error)")
        }
    }

    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        wake.signal()
    }

    /// Blocks until there is an answer.
    func run() -> Result<[Endpoint], ResolverError> {
        guard AresLibrary.isReady else { return .failure(.failed("c-ares can't be initialized")) }
        let answer = ResolverAnswer()
        do throws(ResolverError) {
            let channel = try ResolverChannel(
                mark: mark,
                resolvers: resolvers,
                tries: Self.tries,
                firstTryMilliseconds: Self.firstTryMilliseconds
            )
            channel.start(host, answer)
            let deadline = Instant.now() + Self.limit
            while answer.status == nil {
                let left = deadline - Instant.now()
                if left <= .zero || isCancelled.load(ordering: .relaxed) { break }
                channel.wait(for: left, orUntilReadable: wake.descriptor.raw)
            }
            let isUnanswered = answer.status == nil
            // Ends what is still under way: the callback is called before this returns.
            channel.cancel()
            if isCancelled.load(ordering: .relaxed) { return .failure(.cancelled) }
            if isUnanswered { return .failure(.timeout) }
        } catch {
            return .failure(error)
        }
        return answer.result(port: port)
    }
}

/// What the callback of a look-up said.
final class ResolverAnswer {
    private(set) var status: Int32?
    private var endpoints: [Endpoint] = []

    func take(_ status: Int32, _ list: UnsafeMutablePointer<ares_addrinfo>?) {
        self.status = status
        var node = unsafe list?.pointee.nodes
        while let current = unsafe node {
            if let name = unsafe current.pointee.ai_addr {
                unsafe add(Endpoint(name, length: Int(current.pointee.ai_addrlen)))
            }
            unsafe node = unsafe current.pointee.ai_next
        }
        if let list = unsafe list { unsafe ares_freeaddrinfo(list) }
    }

    private func add(_ endpoint: Endpoint?) {
        // A name with more addresses than this is no gateway's.
        guard let endpoint, endpoints.count < 64 else { return }
        endpoints.append(endpoint)
    }

    func result(port: UInt16) -> Result<[Endpoint], ResolverError> {
        switch status {
        case Int32(ARES_SUCCESS) where !endpoints.isEmpty:
            var seen: Set<Endpoint> = []
            let all = endpoints.map { Endpoint($0.address, port: port, zone: $0.zone) }
            return .success(all.filter { seen.insert($0).inserted })
        case Int32(ARES_SUCCESS), Int32(ARES_ENOTFOUND), Int32(ARES_ENODATA), Int32(ARES_ENONAME), Int32(ARES_EBADNAME):
            return .failure(.noSuchName)
        case Int32(ARES_ECONNREFUSED), Int32(ARES_EREFUSED), Int32(ARES_ESERVFAIL):
            return .failure(.noResolver(AresLibrary.text(status ?? 0)))
        case Int32(ARES_ETIMEOUT):
            return .failure(.timeout)
        default:
            return .failure(.failed(AresLibrary.text(status ?? 0)))
        }
    }
}

enum AresLibrary {
    /// c-ares wants to be initialized once, before other threads use it.
    static let isReady = ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS

    static func text(_ status: Int32) -> String {
        guard let text = unsafe ares_strerror(status) else { return "c-ares error \(status)" }
        return unsafe String(cString: text)
    }
}
