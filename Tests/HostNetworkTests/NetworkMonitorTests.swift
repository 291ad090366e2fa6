import Dispatch
import Netlink
import NetworkTypes
import Synchronization
import TestSupport
import Testing

@testable import HostNetwork

@Suite struct NetworkMonitorTests {
    @Test func `changes of the network are told once, those of a tunnel not at all`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let heard = Mailbox()
            let queue = DispatchQueue(label: "monitor")
            let own = OwnInterfaces()
            let monitor = try NetworkMonitor(on: queue, ownInterfaces: own) { heard.put($0) }
            monitor.resume()
            defer { monitor.cancel() }

            let interface = try space.makeTun("tnet0")
            own.insert(interface.index)
            var journal = NetworkJournal()
            let applier = NetworkApplier(socket: space.socket)
            _ = try applier.apply(
                TunnelNetworkSettings(
                    interface: interface,
                    addresses: prefixes("10.7.0.2/24", "fd00:7::2/64"),
                    routes: prefixes("0.0.0.0/0", "::/0", "10.8.0.0/16")
                ),
                journal: &journal
            ) { _ in }
            _ = applier.revert(&journal)
            var events: NetworkEvents = []
            while let more = heard.take(within: 500) { events.formUnion(more) }
            #expect(events == .own, "a tunnel's start and stop is no change of the network")

            space.ip("addr add 192.0.2.99/24 dev under0")
            #expect(heard.take(within: Int(patienceMilliseconds))?.contains(.addresses) == true)
            space.ip("addr change 192.0.2.99/24 dev under0 valid_lft 900 preferred_lft 900")
            #expect(heard.take(within: 500) == nil, "the same address again is no change")
            space.ip("route replace default via 192.0.2.253")
            #expect(heard.take(within: Int(patienceMilliseconds)) == .ownSettings, "it may have replaced ours")
            #expect(heard.take(within: Int(patienceMilliseconds)) == .routes)
            space.ip("link set under0 down")
            #expect(heard.take(within: Int(patienceMilliseconds))?.contains(.links) == true)
            #expect(heard.take(within: 500) == nil)
        }
    }

    @Test func `what is taken from a tunnel is told as such, and soon`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let heard = Mailbox()
            let own = OwnInterfaces()
            let monitor = try NetworkMonitor(on: DispatchQueue(label: "monitor"), ownInterfaces: own) { heard.put($0) }
            let interface = try space.makeTun("tnet0")
            own.insert(interface.index)
            var journal = NetworkJournal()
            _ = try NetworkApplier(socket: space.socket).apply(
                TunnelNetworkSettings(
                    interface: interface,
                    addresses: prefixes("10.7.0.2/24", "fd00:7::2/64"),
                    routes: prefixes("0.0.0.0/0", "::/0", "10.8.0.0/16", "fd00:8::/64")
                ),
                journal: &journal
            ) { _ in }
            monitor.resume()
            defer { monitor.cancel() }
            while heard.take(within: 500) != nil {}
            for (removal, restoring) in [
                ("rule del pref 29995", "rule add pref 29995 lookup main protocol 140"),
                ("-6 rule del pref 29994", "-6 rule add pref 29994 lookup main protocol 140"),
                ("route del 10.8.0.0/16", "route add 10.8.0.0/16 dev tnet0 proto 140"),
                ("-6 route del fd00:8::/64", "-6 route add fd00:8::/64 dev tnet0 proto 140"),
                ("addr del fd00:7::2/64 dev tnet0", "addr add fd00:7::2/64 dev tnet0 nodad"),
            ] {
                space.ip(removal)
                #expect(heard.take(within: Int(patienceMilliseconds)) == .ownSettings, "\(removal)")
                space.ip(restoring)
                #expect(heard.take(within: 300) == nil, "\(restoring)")
            }
            // Replaced, it isn't told to be gone.
            space.ip("route replace 10.8.0.0/16 via 192.0.2.254")
            var events: NetworkEvents = []
            while let more = heard.take(within: 500) { events.formUnion(more) }
            #expect(events == [.ownSettings, .routes])
            // Others' rules are theirs, and may lead the outer packets another way, as their routes do.
            for change in ["rule add pref 100 lookup main", "rule del pref 100"] {
                space.ip(change)
                #expect(heard.take(within: Int(patienceMilliseconds)) == .routes, "\(change)")
            }
        }
    }

    @Test func `an overrun of events counts as a change of everything`() async throws {
        try await Namespace.run { space in
            space.makeUnderlay()
            let heard = Mailbox()
            let queue = DispatchQueue(label: "monitor")
            let monitor = try NetworkMonitor(on: queue, socket: space.socket) { heard.put($0) }
            // Ten thousand announcements don't fit the socket of a monitor that doesn't read.
            let routes = (0..<10_000).compactMap { number in
                IPPrefix(.v4(IPv4Address(0x0a00_0000 | UInt32(number) << 4)), length: 28)
            }
            let interface = try space.makeTun("tnet0")
            var journal = NetworkJournal()
            _ = try NetworkApplier(socket: space.socket).apply(
                TunnelNetworkSettings(interface: interface, addresses: prefixes("172.16.0.1/32"), routes: routes),
                journal: &journal
            ) { _ in }
            monitor.resume()
            defer { monitor.cancel() }
            #expect(heard.take(within: Int(patienceMilliseconds)) == .own)
            #expect(heard.take(within: Int(patienceMilliseconds)) == [.links, .addresses, .routes])
            #expect(heard.take(within: 500) == nil)
            space.ip("addr add 192.0.2.99/24 dev under0")
            #expect(heard.take(within: Int(patienceMilliseconds))?.contains(.addresses) == true)
        }
    }
}

/// What a handler on another queue was called with.
private final class Mailbox: Sendable {
    private let values = Mutex<[NetworkEvents]>([])
    private let signal = DispatchSemaphore(value: 0)

    func put(_ events: NetworkEvents) {
        values.withLock { $0.append(events) }
        signal.signal()
    }

    /// The next call's value; nil if there is none in so many milliseconds.
    func take(within milliseconds: Int) -> NetworkEvents? {
        guard signal.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return nil }
        return values.withLock { $0.removeFirst() }
    }
}
