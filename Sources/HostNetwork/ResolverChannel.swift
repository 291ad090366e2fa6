import CAres
import Glibc
import LinuxSystem
import NetworkTypes

/// A c-ares channel whose sockets carry a mark; for one thread.
@safe struct ResolverChannel: ~Copyable {
    private let channel: OpaquePointer
    /// c-ares has a pointer to it.
    private let sockets: ResolverSockets

    /// - Parameter resolvers: instead of what stands in /etc/resolv.conf.
    init(
        mark: UInt32,
        resolvers: UnderlayResolvers?,
        tries: Int32,
        firstTryMilliseconds: Int32
    ) throws(ResolverError) {
        let channel = try unsafe ResolverChannel.open(tries, firstTryMilliseconds, search: resolvers?.searchDomains)
        let sockets = ResolverSockets(mark: mark, servers: resolvers?.servers ?? [])
        unsafe ares_set_socket_functions(
            channel,
            ResolverSockets.functions,
            Unmanaged.passUnretained(sockets).toOpaque()
        )
        if resolvers != nil {
            let list = sockets.namedServers.map(\.description).joined(separator: ",")
            let status = unsafe ares_set_servers_ports_csv(channel, list)
            guard status == ARES_SUCCESS else {
                unsafe ares_destroy(channel)
                throw .noResolver(AresLibrary.text(status))
            }
        }
        unsafe self.channel = unsafe channel
        self.sockets = sockets
    }

    deinit { unsafe ares_destroy(channel) }

    /// - Parameter search: domains for short names; nil for those of /etc/resolv.conf.
    private static func open(
        _ tries: Int32,
        _ milliseconds: Int32,
        search: [String]?
    ) throws(ResolverError) -> OpaquePointer {
        var options = unsafe ares_options()
        unsafe options.timeout = milliseconds
        unsafe options.tries = tries
        var names = unsafe (search ?? []).map { unsafe strdup($0) }
        defer { unsafe names.forEach { unsafe free($0) } }
        let searches = search == nil ? 0 : Int32(ARES_OPT_DOMAINS)
        var channel: OpaquePointer?
        // "fb": /etc/hosts first, then the resolvers, whatever /etc/nsswitch.conf has besides.
        let status = unsafe "fb".withCString { lookups in
            unsafe options.lookups = unsafe UnsafeMutablePointer(mutating: lookups)
            return unsafe names.withUnsafeMutableBufferPointer { names in
                unsafe options.domains = names.baseAddress
                unsafe options.ndomains = Int32(names.count)
                return unsafe ares_init_options(
                    &channel,
                    &options,
                    Int32(ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS) | searches
                )
            }
        }
        guard status == ARES_SUCCESS, let channel = unsafe channel else {
            throw .failed(AresLibrary.text(status))
        }
        return unsafe channel
    }

    /// Sends the queries for both families; `answer` must live until the channel is gone.
    func start(_ host: String, _ answer: ResolverAnswer) {
        var hints = ares_addrinfo_hints()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        unsafe ares_getaddrinfo(
            channel,
            host,
            nil,
            &hints,
            { argument, status, _, list in
                guard let argument = unsafe argument else { return }
                unsafe Unmanaged<ResolverAnswer>.fromOpaque(argument).takeUnretainedValue().take(status, list)
            },
            Unmanaged.passUnretained(answer).toOpaque()
        )
    }

    /// Waits for one of the channel's sockets, its next timeout or the other descriptor, and does what is due.
    func wait(for limit: Interval, orUntilReadable other: Int32) {
        var sockets = [ares_socket_t](repeating: -1, count: Int(ARES_GETSOCK_MAXNUM))
        let bits = unsafe ares_getsock(channel, &sockets, ARES_GETSOCK_MAXNUM)
        var descriptors = [pollfd(fd: other, events: Int16(POLLIN), revents: 0)]
        for (number, socket) in sockets.enumerated() {
            // ARES_GETSOCK_READABLE and _WRITABLE of ares.h, which Swift can't import.
            let readable = bits & (1 << number) != 0
            let writable = bits & (1 << (number + Int(ARES_GETSOCK_MAXNUM))) != 0
            guard readable || writable else { continue }
            let events = (readable ? POLLIN : 0) | (writable ? POLLOUT : 0)
            descriptors.append(pollfd(fd: socket, events: Int16(events), revents: 0))
        }
        let ready = unsafe poll(&descriptors, nfds_t(descriptors.count), timeout(atMost: limit))
        if ready <= 0 {
            unsafe ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD)
            return
        }
        for descriptor in descriptors.dropFirst() where descriptor.revents != 0 {
            let readable = Int32(descriptor.events) & POLLIN != 0
            let writable = Int32(descriptor.events) & POLLOUT != 0
            unsafe ares_process_fd(
                channel,
                readable ? descriptor.fd : ARES_SOCKET_BAD,
                writable ? descriptor.fd : ARES_SOCKET_BAD
            )
        }
    }

    /// Ends all that is under way; the callbacks are called before it returns.
    func cancel() { unsafe ares_cancel(channel) }

    /// Milliseconds until c-ares wants to be called, rounded up so that it isn't called too early in a loop.
    private func timeout(atMost limit: Interval) -> Int32 {
        let milliseconds = Int32(clamping: limit.nanoseconds / 1_000_000 + 1)
        var most = timeval(tv_sec: Int(milliseconds / 1000), tv_usec: Int(milliseconds % 1000) * 1000)
        var time = timeval()
        guard let next = unsafe ares_timeout(channel, &most, &time) else { return milliseconds }
        return unsafe min(milliseconds, Int32(clamping: next.pointee.tv_sec * 1000 + next.pointee.tv_usec / 1000 + 1))
    }
}
