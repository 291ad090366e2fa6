import NetworkTypes
import Testing
import WireGuardCore

/// C062: what TCP inside the tunnel shows of a path that swallows long packets.
@Suite struct BlackHoleWatchTests {
    /// Outer sizes, and the length of a packet that is found to pass: 60 or 80 bytes less, at one of the usual sizes.
    @Test(arguments: [
        (1280, false, 1220), (1300, false, 1220), (1400, false, 1340), (1492, false, 1432), (576, false, 516),
        (1280, true, 1200), (1399, true, 1300), (1450, true, 1370),
    ])
    func `the length that passes is found, and everything arrives`(outer: Int, isIPv6: Bool, passing: Int) throws {
        let overhead = isIPv6 ? 80 : 60
        var transfer = Transfer(isIPv6: isIPv6, length: 1500 - overhead) { length in length + overhead <= outer }
        transfer.run(bytes: 1_000_000)
        let finding = try #require(transfer.findings.first)
        #expect(transfer.findings.count == 1 && finding.passing == passing && finding.failing > outer - overhead)
        #expect(transfer.watch.limit == passing && !transfer.watch.listens)
        // The stalls of two retransmissions by the clock, and of one more where not even 1280 bytes pass.
        #expect(transfer.now - Transfer.start < .seconds(outer < 1280 ? 5 : 3), "\(transfer.now)")
    }

    @Test func `what was found is tried first after the limit was raised`() throws {
        var transfer = Transfer(length: 1440) { $0 + 60 <= 1400 }
        transfer.run(bytes: 300_000)
        #expect(transfer.watch.limit == 1340)
        transfer.watch.raise()
        #expect(transfer.watch.limit == .max)
        transfer.length = 1440
        let began = transfer.now
        transfer.run(bytes: 300_000)
        #expect(transfer.findings.map(\.passing) == [1340, 1340] && transfer.now - began < .seconds(3))
        // And where the path carries all of it now, nothing is found.
        transfer.watch.raise()
        transfer.length = 1440
        transfer.passes = { _ in true }
        transfer.run(bytes: 300_000)
        #expect(transfer.findings.count == 2 && transfer.watch.limit == .max)
    }

    @Test func `losses by chance lead to nothing, however many`() {
        for seed in 1..<40 {
            var random = UInt64(seed) &* 0x9e37_79b9_7f4a_7c15
            var transfer = Transfer(length: 1440) { _ in
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return random >> 60 > 1  // about every eighth is lost
            }
            transfer.run(bytes: 300_000)
            #expect(transfer.findings.isEmpty, "\(seed)")
        }
    }

    @Test func `a host that is dead leads to nothing`() {
        var transfer = Transfer(length: 1440) { _ in true }
        transfer.run(bytes: 100_000)
        transfer.passes = { _ in false }
        transfer.run(bytes: 100_000, attempts: 30)
        #expect(transfer.findings.isEmpty && transfer.watch.limit == .max)
    }

    @Test func `what is no divisible data, and what is short, is let be`() {
        var watch = BlackHoleWatch(isIPv6: false)
        #expect(!watch.watches(1220) && watch.watches(1221))
        for segment in [
            TCPSegment(flow: flow(1), sequence: 0, payloadLength: 1400, isDivisible: false),
            TCPSegment(flow: flow(1), sequence: 0, payloadLength: 0),
        ] {
            for second in 0..<9 {
                #expect(watch.sending(segment, length: 1440, now: .zero + .seconds(second)) == .whole)
            }
        }
        #expect(!watch.listens)
    }

    @Test func `one connection is looked at, and another when it is quiet`() {
        var watch = BlackHoleWatch(isIPv6: false)
        func send(_ port: UInt16, at second: Int) -> BlackHoleWatch.Advice {
            watch.sending(
                TCPSegment(flow: flow(port), sequence: 7, payloadLength: 1400),
                length: 1440,
                now: .zero + .seconds(second)
            )
        }
        #expect(send(1, at: 0) == .whole)
        // Not looked at: never cut.
        for _ in 0..<5 { #expect(send(2, at: 0) == .whole) }
        // Looked at from now on: sent once, and again, and cut the third time.
        #expect(send(2, at: 1) == .whole && send(2, at: 2) == .whole)
        #expect(send(2, at: 3) == .cut(first: 1220, rest: 1220) && watch.listens)
        // Shorter still, and then it is given up.
        #expect(send(2, at: 4) == .cut(first: 516, rest: 516) && send(2, at: 5) == .whole && !watch.listens)
    }

    @Test func `another's acknowledgement proves nothing`() {
        var watch = BlackHoleWatch(isIPv6: false)
        let segment = TCPSegment(flow: flow(1), sequence: 0xffff_ff00, payloadLength: 1400)
        for second in 0..<3 { _ = watch.sending(segment, length: 1440, now: .zero + .seconds(second)) }
        watch.acknowledged(flow(2), upTo: 500, now: .zero + .seconds(3))
        watch.acknowledged(flow(1), upTo: 0xffff_ff00, now: .zero + .seconds(3))
        // Still cut shorter when it comes again: nothing was heard of it.
        #expect(watch.sending(segment, length: 1440, now: .zero + .seconds(4)) == .cut(first: 516, rest: 516))
        // Beyond the end of the numbers: what failed is risked once more.
        watch.acknowledged(flow(1), upTo: 500, now: .zero + .seconds(4))
        let next = TCPSegment(flow: flow(1), sequence: 1144, payloadLength: 1400)
        #expect(watch.sending(next, length: 1440, now: .zero + .seconds(5)) == .cut(first: 1440, rest: 516))
    }
}

private func flow(_ port: UInt16) -> TCPFlow {
    TCPFlow(from: .v4(IPv4Address(10, 0, 0, 1)), port: port, to: .v4(IPv4Address(10, 0, 0, 2)), port: 80)
}

/// A TCP connection over a path: ten packets at most on their way; what is missing is sent again where later ones arrive,
/// else after 200 ms, doubling.
private struct Transfer {
    var watch: BlackHoleWatch
    /// The longest packet that the sender makes.
    var length: Int
    var passes: (Int) -> Bool
    static let start = Instant.zero + .seconds(100)
    var now = Transfer.start
    var findings: [BlackHoleWatch.Finding] = []
    private var base: UInt32 = 0xffff_0000
    private var arrived: [UInt32: UInt32] = [:]

    init(isIPv6: Bool = false, length: Int, passes: @escaping (Int) -> Bool) {
        watch = BlackHoleWatch(isIPv6: isIPv6)
        self.length = length
        self.passes = passes
    }

    mutating func run(bytes: Int, attempts: Int = 100) {
        let goal = base &+ UInt32(bytes)
        var next = base
        var wait = 200
        var vain = 0
        while base != goal, vain < attempts {
            let before = base
            var fresh = false
            while next != goal, next &- base < 10 * UInt32(length) {
                next = send(next, to: goal)
                fresh = true
            }
            now = now + .milliseconds(10)
            acknowledge()
            if base != before {
                wait = 200
                vain = 0
                continue
            }
            // Later ones arrived: at once; else when the time is over.
            if !(fresh && !arrived.isEmpty) {
                now = now + .milliseconds(wait)
                wait *= 2
                vain += 1
            }
            if base != goal { _ = send(base, to: goal) }
            now = now + .milliseconds(10)
            acknowledge()
            if base != before { wait = 200 }
        }
    }

    private mutating func send(_ sequence: UInt32, to goal: UInt32) -> UInt32 {
        let payload = min(length - 40, Int(goal &- sequence))
        let segment = TCPSegment(flow: flow(1), sequence: sequence, payloadLength: payload)
        var pieces = [payload]
        if watch.watches(payload + 40),
            case .cut(let first, let rest) = watch.sending(segment, length: payload + 40, now: now)
        {
            pieces = [min(first - 40, payload)]
            while pieces.reduce(0, +) < payload { pieces.append(min(rest - 40, payload - pieces.reduce(0, +))) }
        }
        var at = sequence
        for piece in pieces {
            if passes(piece + 40) { arrived[at] = max(arrived[at] ?? 0, UInt32(piece)) }
            at &+= UInt32(piece)
        }
        collect()
        return sequence &+ UInt32(payload)
    }

    private mutating func acknowledge() {
        while let (start, piece) = arrived.first(where: { $0.key &- base >= 1 << 31 || $0.key == base }) {
            arrived[start] = nil
            let end = start &+ piece
            if end &- base < 1 << 31 { base = end }
        }
        watch.acknowledged(flow(1), upTo: base, now: now)
        collect()
    }

    private mutating func collect() {
        guard let finding = watch.takeFinding() else { return }
        findings.append(finding)
        // As the tunnel's MTU follows.
        length = min(length, finding.passing)
    }
}
