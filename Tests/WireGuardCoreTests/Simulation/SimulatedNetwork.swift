import NetworkTypes
import TestSupport
import TunnelCrypto
import WireGuardCore

extension LibraryCryptography: Cryptography {}

/// A network of devices with one clock.
///
/// Datagrams take their time, get lost, doubled and overtaken, and everything can be
/// repeated from a seed. Hours pass in milliseconds.
final class SimulatedNetwork {
    struct Passage {
        let time: Instant
        let source: Endpoint
        let destination: Endpoint
        let datagram: [UInt8]
        let isDelivered: Bool

        var type: UInt8 { datagram.first ?? 0 }
    }

    private struct Flight {
        let arrival: Instant
        let number: Int
        let source: Endpoint
        let destination: Endpoint
        let datagram: [UInt8]
    }

    private(set) var now = Instant.zero + .seconds(1000)
    /// What the wall clock is ahead of the other one.
    var wallOffset: Int64 = 1_700_000_000
    var random: SeededGenerator
    var loss = 0.0
    var duplication = 0.0
    var delay = Interval.milliseconds(10)
    /// The most that chance adds to the delay: datagrams overtake each other.
    var jitter = Interval.zero
    /// Datagrams that a filter on the way drops.
    var blocks: (Passage) -> Bool = { _ in false }
    private(set) var passages: [Passage] = []
    private(set) var nodes: [SimulatedNode] = []
    private var flights: [Flight] = []
    private var flightNumber = 0

    init(seed: UInt64 = 1) { random = SeededGenerator(seed: seed) }

    var moment: Moment {
        let nanoseconds = now.nanoseconds
        return Moment(
            now: now,
            wallClock: Timestamp(
                wallSeconds: Int64(nanoseconds / 1_000_000_000) + wallOffset,
                nanoseconds: UInt32(nanoseconds % 1_000_000_000)
            )
        )
    }

    func add(_ node: SimulatedNode) { nodes.append(node) }

    func remove(_ node: SimulatedNode) { nodes.removeAll { $0 === node } }

    func send(_ datagram: [UInt8], from source: Endpoint, to destination: Endpoint) {
        let passage = Passage(
            time: now,
            source: source,
            destination: destination,
            datagram: datagram,
            isDelivered: true
        )
        let isLost = blocks(passage) || Double.random(in: 0..<1, using: &random) < loss
        passages.append(
            Passage(
                time: now,
                source: source,
                destination: destination,
                datagram: datagram,
                isDelivered: !isLost
            )
        )
        guard !isLost else { return }
        let copies = Double.random(in: 0..<1, using: &random) < duplication ? 2 : 1
        for _ in 0..<copies {
            let extra = jitter.nanoseconds > 0 ? Int64.random(in: 0...jitter.nanoseconds, using: &random) : 0
            flightNumber += 1
            flights.append(
                Flight(
                    arrival: now + delay + Interval(nanoseconds: extra),
                    number: flightNumber,
                    source: source,
                    destination: destination,
                    datagram: datagram
                )
            )
        }
    }

    /// Lets time pass, with all that happens in it.
    func run(for interval: Interval) { run(until: now + interval) }

    func run(until end: Instant) {
        while true {
            let arrival = flights.map(\.arrival).min() ?? .distantFuture
            let timer = nodes.compactMap(\.deadline).min() ?? .distantFuture
            let next = min(arrival, timer)
            guard next <= end else { break }
            now = max(now, next)
            if arrival <= timer { deliver() } else { fire() }
        }
        now = max(now, end)
    }

    /// Lets time pass until something is so; false where it isn't in time.
    func run(atMost interval: Interval, step: Interval = .milliseconds(50), until isSo: () -> Bool) -> Bool {
        let end = now + interval
        while now < end {
            if isSo() { return true }
            run(until: min(now + step, end))
        }
        return isSo()
    }

    /// Lets time pass in which nothing runs, as while a machine sleeps.
    func sleep(_ interval: Interval) { now = now + interval }

    private func deliver() {
        guard
            let index = flights.indices.min(by: {
                (flights[$0].arrival, flights[$0].number) < (flights[$1].arrival, flights[$1].number)
            })
        else { return }
        let flight = flights.remove(at: index)
        nodes.first { $0.address == flight.destination }?.receive(flight.datagram, from: flight.source)
    }

    private func fire() {
        for node in nodes {
            if let deadline = node.deadline, deadline <= now { node.fire() }
        }
    }

    /// What went over the network since an instant, by type and source.
    func count(type: UInt8, from source: Endpoint? = nil, since start: Instant = .zero) -> Int {
        passages.filter { $0.type == type && (source == nil || $0.source == source) && $0.time >= start }.count
    }

    func times(type: UInt8, from source: Endpoint, since start: Instant = .zero) -> [Instant] {
        passages.filter { $0.type == type && $0.source == source && $0.time >= start }.map(\.time)
    }
}
