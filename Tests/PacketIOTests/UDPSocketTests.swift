import CShims
import CTestSupport
import Glibc
import LinuxSystem
import NetworkTypes
import PacketIO
import PacketTestSupport
import Synchronization
import Testing
import TestSupport

@Suite struct UDPSocketTests {
    @Test(arguments: [false, true])
    func `groups of datagrams arrive whole, in order, with their source and congestion mark`(isIPv6: Bool) throws {
        let (from, to) = (try makeSocket(isIPv6), try makeSocket(isIPv6))
        #expect(from.abilities == [.groups, .trains, .sendBatches, .receiveBatches])
        let messages = (0..<300).map { index in
            [UInt8](repeating: UInt8(index & 0xff), count: [1000, 1000, 1000, 300, 1200][index % 5])
        }
        #expect(send(messages, to: to.endpoint, over: from, from, ecn: 2) == 0)
        let received = receive(on: to, count: messages.count)
        #expect(received.map(\.bytes) == messages)
        #expect(received.allSatisfy { $0.source == from.endpoint && $0.ecn == 2 })
        #expect(from.counters == UDPSocket.Counters() && from.takeErrors().isEmpty)
    }

    @Test(arguments: [false, true]) func `a group never exceeds what the kernel takes`(isIPv6: Bool) throws {
        let (from, to) = (try makeSocket(isIPv6), try makeSocket(isIPv6))
        for (length, count) in [(1, 200), (1452, 200), (65507, 3)] {
            let messages = (0..<count).map { [UInt8](repeating: UInt8($0 & 0xff), count: length) }
            send(messages, to: to.endpoint, over: from, from)
            #expect(receive(on: to, count: count).map(\.bytes) == messages)
        }
        // With an IPv6 header around it, the longest is longer than what the loopback takes.
        #expect(from.counters.unsent == 0 && from.counters.ungrouped == 0)
    }

    @Test func `a train is told with the size of its datagrams`() throws {
        let (from, to) = (try makeSocket(), try makeSocket())
        send((0..<10).map { [UInt8](repeating: $0, count: $0 < 9 ? 500 : 20) }, to: to.endpoint, over: from, nil)
        let ring = ReceiveRing()
        #expect(to.receive(into: ring) == 1)
        let train = unsafe ring[0]
        #expect(unsafe train.segment == 500 && train.length == 4520 && !train.truncated)
    }

    @Test func `what isn't allowed isn't done, until it is again`() throws {
        let (from, to) = (try makeSocket(), try makeSocket())
        let messages = (0..<20).map { [UInt8](repeating: $0, count: 500) }
        let ring = ReceiveRing()
        func trains() -> [UInt32] {
            send(messages, to: to.endpoint, over: from, nil)
            var lengths: [UInt32] = []
            while true {
                let count = to.receive(into: ring)
                guard count > 0 else { return lengths }
                for index in 0..<count { lengths.append(unsafe ring[index].length) }
            }
        }
        #expect(trains() == [10000])
        to.allow(.all.subtracting(.trains))
        #expect(trains() == [UInt32](repeating: 500, count: 20))
        #expect(to.abilities == .all.subtracting(.trains))
        to.allow(.all)
        from.allow(.all.subtracting([.groups, .sendBatches]))
        #expect(trains() == [UInt32](repeating: 500, count: 20))
        #expect(from.counters.unsent == 0)
        to.allow(.all.subtracting(.receiveBatches))
        #expect(to.receive(into: ring) == 0)
        send(messages, to: to.endpoint, over: from, nil)
        #expect(to.receive(into: ring) == 1)
        while to.receive(into: ring) > 0 {}
        to.allow(.all)
        from.allow(.all)
        #expect(trains() == [10000])
    }

    @Test func `a datagram without a socket of its family is counted`() throws {
        let (from, to) = (try makeSocket(), try makeSocket())
        #expect(send([[1]], to: to.endpoint, over: nil, from) == 1)
    }

    @Test(arguments: [EIO, EINVAL])
    func `where groups are refused, the same datagrams go singly, and groups end`(code: Int32) throws {
        let refusing =
            code == EIO ? unsafe UDPCalls(send: refuseGroups(EIO)) : unsafe UDPCalls(send: refuseGroups(EINVAL))
        let (from, to) = (try makeSocket(calls: refusing), try makeSocket())
        let messages = (0..<100).map { [UInt8](repeating: $0, count: 700) }
        send(messages, to: to.endpoint, over: from, nil)
        #expect(receive(on: to, count: 100).map(\.bytes) == messages)
        #expect(!from.abilities.contains(.groups) && from.counters.unsent == 0 && from.counters.ungrouped == 2)
    }

    /// C058: the path's MTU is smaller than the tunnel expects.
    @Test func `a group too long for its path goes singly, and so do the next, without a try each`() throws {
        let (from, to) = (try makeSocket(calls: unsafe UDPCalls(send: refuseGroups(EMSGSIZE))), try makeSocket())
        let messages = (0..<200).map { [UInt8](repeating: UInt8($0 & 0xff), count: 700) }
        tries.store(0, ordering: .relaxed)
        send(messages, to: to.endpoint, over: from, nil)
        #expect(receive(on: to, count: 200).map(\.bytes) == messages)
        #expect(from.abilities.contains(.groups) && from.counters.unsent == 0 && from.counters.ungrouped == 4)
        #expect(tries.load(ordering: .relaxed) == 1)
    }

    /// C058: nothing is lost on a path that takes less than the tunnel expects, and it is known at once how much that is.
    @Test(arguments: [false, true], [1, 130])
    func `what is too long for its path goes in fragments, and the MTU is told`(isIPv6: Bool, count: Int) throws {
        try onOwnThread {
            try OwnThread.unshareNetwork()
            try OwnThread.run("ip link set lo mtu 1280 up")
            let (from, to) = (try makeSocket(isIPv6), try makeSocket(isIPv6))
            let longest = isIPv6 ? 1232 : 1252
            let short = (0..<count).map { [UInt8](repeating: UInt8($0 & 0xff), count: longest) }
            send(short, to: to.endpoint, over: from, from)
            #expect(receive(on: to, count: count).map(\.bytes) == short)
            #expect(from.counters == UDPSocket.Counters() && from.takeErrors().isEmpty)

            let long = (0..<count).map { [UInt8](repeating: UInt8($0 & 0xff), count: longest + 1) }
            let groups = count == 1 ? 1 : 3
            for _ in 0..<2 {
                send(long, to: to.endpoint, over: from, from)
                #expect(receive(on: to, count: count).map(\.bytes) == long)
            }
            #expect(from.counters.unsent == 0 && from.counters.fragmented == 2 * groups)
            let host: IPAddress = isIPv6 ? .v6(.loopback) : .v4(.loopback)
            let told = from.takeErrors()
            #expect(told.map(\.code) == [EMSGSIZE] && told.map(\.mtu) == [1280])
            #expect(told.first?.destination?.address == host)
            // Asked again once the path is said to have changed.
            from.forgetPaths()
            send(long, to: to.endpoint, over: from, from)
            #expect(receive(on: to, count: count).count == count && from.takeErrors().map(\.mtu) == [1280])
        }
    }

    /// C062: a tunnel whose MTU follows the path never relies on fragments.
    @Test(arguments: [false, true], [1, 130])
    func `where fragments aren't wanted, what is too long is dropped, without a try each`(isIPv6: Bool, count: Int)
        throws
    {
        try onOwnThread {
            try OwnThread.unshareNetwork()
            try OwnThread.run("ip link set lo mtu 1280 up")
            let (from, to) = (try makeSocket(isIPv6), try makeSocket(isIPv6))
            from.setFragmentation(allowed: false)
            let longest = isIPv6 ? 1232 : 1252
            let short = (0..<count).map { [UInt8](repeating: UInt8($0 & 0xff), count: longest) }
            let long = (0..<count).map { [UInt8](repeating: UInt8($0 & 0xff), count: longest + 1) }
            for _ in 0..<2 {
                send(long, to: to.endpoint, over: from, from)
                send(short, to: to.endpoint, over: from, from)
                #expect(receive(on: to, count: count).map(\.bytes) == short)
            }
            #expect(from.counters.unsent == 2 * count && from.counters.fragmented == 0)
            #expect(from.abilities.contains(.groups))
            #expect(from.takeErrors().map(\.mtu) == [1280])
        }
    }

    /// C058: Linux before 6.14 says "invalid argument" of a group that is too long for its path.
    @Test func `a group that is called invalid for its length costs no batches`() throws {
        try onOwnThread {
            try OwnThread.unshareNetwork()
            try OwnThread.run("ip link set lo mtu 1280 up")
            let (from, to) = (try makeSocket(calls: unsafe UDPCalls(send: refuseGroups(EINVAL))), try makeSocket())
            let long = (0..<130).map { [UInt8](repeating: UInt8($0 & 0xff), count: 1253) }
            send(long, to: to.endpoint, over: from, nil)
            #expect(receive(on: to, count: 130).map(\.bytes) == long)
            #expect(from.abilities.contains(.groups) && from.counters.unsent == 0)
            #expect(from.takeErrors().map(\.mtu) == [1280])
        }
    }

    /// C067: very old kernels, and filters on system calls.
    @Test(arguments: [ENOSYS, EPERM])
    func `without calls for batches, single ones do`(code: Int32) throws {
        try onOwnThread {
            try OwnThread.refuse([Int(SYS_recvmmsg), Int(SYS_sendmmsg)], with: code)
            let (from, to) = (try makeSocket(), try makeSocket())
            let messages = (0..<200).map { [UInt8](repeating: UInt8($0 & 0xff), count: $0 % 2 == 0 ? 700 : 900) }
            send(messages, to: to.endpoint, over: from, nil)
            #expect(receive(on: to, count: 200).map(\.bytes) == messages)
            #expect(from.abilities == [.groups, .trains, .receiveBatches] && from.counters.unsent == 0)
            #expect(to.abilities == [.groups, .trains, .sendBatches])
        }
    }

    @Test func `without socket options, datagrams go and come singly`() throws {
        try onOwnThread {
            let (from, to) = (try loopbackSocket(), try loopbackSocket())
            try OwnThread.refuse([Int(SYS_setsockopt), Int(SYS_getsockopt)], with: EPERM)
            let (sender, receiver) = (try UDPSocket(adopting: from), try UDPSocket(adopting: to))
            #expect(sender.abilities == [.sendBatches, .receiveBatches])
            let messages = (0..<100).map { [UInt8](repeating: $0, count: 700) }
            send(messages, to: receiver.endpoint, over: sender, nil)
            #expect(receive(on: receiver, count: 100).map(\.bytes) == messages)
        }
    }

    @Test func `a packet filter's refusal drops the datagram and keeps the batches`() throws {
        let calls = unsafe UDPCalls(send: { _, _, _ in -EPERM }, sendOne: { _, _ in -EPERM })
        let (from, to) = (try makeSocket(calls: calls), try makeSocket())
        send([[1, 2], [3, 4], [5]], to: to.endpoint, over: from, nil)
        #expect(from.abilities.contains(.sendBatches) && from.counters.unsent == 3)
        #expect(from.takeErrors() == [UDPSocket.PathError(destination: to.endpoint, code: EPERM)])
    }

    @Test(arguments: [false, true])
    func `a closed port is told with its address, and costs no other datagram`(isIPv6: Bool) throws {
        let (from, to) = (try makeSocket(isIPv6), try makeSocket(isIPv6))
        let closed = try makeSocket(isIPv6).endpoint
        for index in 0..<20 {
            send([[1]], to: closed, over: from, from)
            send([[UInt8(index)]], to: to.endpoint, over: from, from)
        }
        #expect(receive(on: to, count: 20).map(\.bytes) == (0..<20).map { [UInt8($0)] })
        from.collectErrors()
        #expect(from.takeErrors() == [UDPSocket.PathError(destination: closed, code: ECONNREFUSED)])
        #expect(from.takeErrors().isEmpty)
        #expect(shim_socket_error(from.descriptor.raw) == 0)
    }
}

private let tries = Atomic<Int>(0)

private func refuseGroups(_ code: Int32) -> UDPCalls.Send {
    switch code {
    case EIO: { socket, groups, count in unsafe isGroup(groups) ? -EIO : shim_udp_send(socket, groups, 1) }
    case EINVAL: { socket, groups, count in unsafe isGroup(groups) ? -EINVAL : shim_udp_send(socket, groups, 1) }
    default:
        { socket, groups, count in
            guard unsafe isGroup(groups) else { return unsafe shim_udp_send(socket, groups, count) }
            tries.add(1, ordering: .relaxed)
            return -EMSGSIZE
        }
    }
}

private func isGroup(_ groups: UnsafePointer<shim_udp_group>) -> Bool {
    unsafe groups.pointee.length > groups.pointee.segment
}

private func makeSocket(_ isIPv6: Bool = false, calls: UDPCalls = .kernel) throws -> UDPSocket {
    try UDPSocket(adopting: loopbackSocket(isIPv6: isIPv6), calls: calls)
}

extension UDPSocket {
    fileprivate var endpoint: Endpoint { Endpoint(isIPv6 ? .v6(.loopback) : .v4(.loopback), port: port) }
}

/// Sends messages in batches as large as they may be.
///
/// - Returns: the number of groups without a socket.
@discardableResult
private func send(_ messages: [[UInt8]], to: Endpoint, over v4: UDPSocket?, _ v6: UDPSocket?, ecn: UInt8 = 0) -> Int {
    let batch = SendBatch()
    var homeless = 0
    for message in messages {
        unsafe batch.next.copyMemory(from: message, byteCount: message.count)
        batch.append(message.count, to: SocketAddress(to), ecn: ecn)
        if batch.wantsSending { homeless += batch.send(over: v4, v6) }
    }
    homeless += batch.send(over: v4, v6)
    #expect(batch.isEmpty)
    return homeless
}

private struct Received {
    let bytes: [UInt8]
    let source: Endpoint?
    let ecn: UInt8
}

/// Receives until there are so many datagrams, taking trains apart.
private func receive(on socket: UDPSocket, count: Int) -> [Received] {
    let ring = ReceiveRing()
    var result: [Received] = []
    while result.count < count, waitUntilReady(socket.descriptor.raw) {
        let trains = socket.receive(into: ring)
        for index in 0..<trains {
            let train = unsafe ring[index]
            guard unsafe !train.truncated else { continue }
            let whole = unsafe Array(UnsafeRawBufferPointer(start: train.buffer, count: Int(train.length)))
            let size = unsafe max(Int(train.segment), 1)
            for start in stride(from: 0, to: whole.count, by: size) {
                result.append(
                    unsafe Received(
                        bytes: Array(whole[start..<min(start + size, whole.count)]),
                        source: train.source.endpoint,
                        ecn: train.ecn
                    )
                )
            }
        }
    }
    return result
}
