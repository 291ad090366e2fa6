import CShims
package import Dispatch
import EventLoop
import LinuxSystem
package import Netlink
import NetworkTypes
import Synchronization

/// Calls a handler when the network around the tunnels has changed, a moment after the first sign of it.
///
/// What happens in that moment comes in the same call, with what concerns the tunnels' own interfaces and settings in
/// calls of its own. While nothing happens nothing wakes. Works in the network namespace of the thread that makes it.
package final class NetworkMonitor: Sendable {
    private struct State {
        var filter: NetworkEventFilter
        var pending: NetworkEvents = []
        /// Those of the tunnels' own, which are told sooner.
        var pendingOwn: NetworkEvents = []
    }

    private let subscription: NetlinkSubscription
    private let socket: any NetlinkSocket
    private let queue: DispatchQueue
    private let handler: @Sendable (NetworkEvents) -> Void
    private let state: Mutex<State>
    private let source = Mutex<DescriptorSource?>(nil)
    private let wireless = Mutex<WirelessMonitor?>(nil)

    /// A link that comes up does so in several steps, within a few milliseconds.
    private static let gatheringMilliseconds = 200
    /// Whoever flushes a table removes it all in one go.
    private static let gatheringOwnMilliseconds = 30

    /// - Parameters:
    ///   - queue: where `handler` is called.
    ///   - socket: for reading the state that changes are compared with; nil for one of its own.
    ///   - ownInterfaces: those of the tunnels, whose changes don't count.
    package init(
        on queue: DispatchQueue,
        socket: (any NetlinkSocket)? = nil,
        ownInterfaces: OwnInterfaces = OwnInterfaces(),
        handler: @escaping @Sendable (NetworkEvents) -> Void
    ) throws(NetlinkError) {
        self.queue = queue
        if let socket { self.socket = socket } else { self.socket = try RouteSocket() }
        self.handler = handler
        state = Mutex(State(filter: NetworkEventFilter(ownInterfaces)))
        subscription = try NetlinkSubscription(groups: [
            RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
            RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,
        ])
        try readTables()
    }

    /// Begins to call the handler.
    package func resume() {
        let source = DescriptorSource(subscription.descriptor, .readable, canHangUp: false, on: queue) {
            @Sendable [weak self] in
            self?.drain()
        }
        self.source.withLock { $0 = source }
        source.resume()
        let wireless = WirelessMonitor(on: queue) { @Sendable [weak self] in
            guard let self else { return }
            gather(.wireless, in: \.pending, Self.gatheringMilliseconds)
        }
        wireless.listen()
        self.wireless.withLock { $0 = wireless }
    }

    package func cancel() {
        source.withLock { $0?.cancel() }
        wireless.withLock { $0?.cancel() }
    }

    private func drain() {
        var events: NetworkEvents = []
        do throws(NetlinkError) {
            while let messages = try subscription.receive() {
                state.withLock { state in
                    for message in messages { events.formUnion(state.filter.events(in: message)) }
                }
            }
        } catch {
            // Something was lost: anything may have changed. Reading the tables is tried again at the next event.
            try? readTables()
            events = [.links, .addresses, .routes, .ownLinks, .ownSettings]
        }
        if events.contains(.links) { wireless.withLock { $0 }?.listen() }
        gather(events.subtracting(.own), in: \.pending, Self.gatheringMilliseconds)
        gather(events.intersection(.own), in: \.pendingOwn, Self.gatheringOwnMilliseconds)
    }

    private func gather(
        _ events: NetworkEvents,
        in place: any WritableKeyPath<State, NetworkEvents> & Sendable,
        _ milliseconds: Int
    ) {
        guard !events.isEmpty else { return }
        let isFirst = state.withLock { state in
            defer { state[keyPath: place].formUnion(events) }
            return state[keyPath: place].isEmpty
        }
        guard isFirst else { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in
            self?.deliver(place)
        }
    }

    private func deliver(_ place: any WritableKeyPath<State, NetworkEvents> & Sendable) {
        let events = state.withLock { state in exchange(&state[keyPath: place], with: []) }
        handler(events)
    }

    private func readTables() throws(NetlinkError) {
        let links = try socket.dump(NetlinkRequest(RTM_GETLINK) { $0.header(ifinfomsg(index: 0)) })
        let addresses = try socket.dump(InterfaceAddress.dump(interface: 0))
        state.withLock { $0.filter.reset(to: links + addresses) }
    }
}
