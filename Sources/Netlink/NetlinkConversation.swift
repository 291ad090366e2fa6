import CShims

/// What carries datagrams to the kernel and back: a socket, or a test's script.
protocol NetlinkTransport: ~Copyable {
    mutating func send(_ datagram: [UInt8]) throws(NetlinkError)
    /// Waits for the next datagram.
    mutating func receive() throws(NetlinkError) -> [UInt8]
    /// Throws away what has arrived.
    mutating func drain()
}

/// Requests and their answers over one transport, one exchange at a time.
struct NetlinkConversation<Transport: NetlinkTransport & ~Copyable>: ~Copyable {
    private var transport: Transport
    private var sequence: UInt32

    /// How often a dump is tried whose table changes all the time.
    private static var dumpAttempts: Int { 16 }
    /// Requests in one datagram.
    ///
    /// If each of them failed, their answers (about 1 KiB of socket memory each) still fit the default receive buffer of
    /// 208 KiB (net.core.rmem_default).
    private static var batchLimit: Int { 128 }

    init(_ transport: consuming Transport, sequence: UInt32 = 0) {
        self.transport = transport
        self.sequence = sequence
    }

    /// See `NetlinkSocket.request`.
    mutating func request(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        try whole { (conversation) throws(NetlinkError) in try conversation.requestOnce(request) }
    }

    /// See `NetlinkSocket.dump`.
    mutating func dump(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        try whole { (conversation) throws(NetlinkError) in
            for _ in 0..<Self.dumpAttempts {
                if let whole = try conversation.dumpOnce(request) { return whole }
            }
            throw .interrupted
        }
    }

    /// See `NetlinkSocket.batch`.
    mutating func batch(_ requests: [NetlinkRequest]) throws(NetlinkError) -> [NetlinkError?] {
        try whole { (conversation) throws(NetlinkError) in
            var results: [NetlinkError?] = []
            results.reserveCapacity(requests.count)
            var rest = requests[...]
            while !rest.isEmpty {
                let part = rest.prefix(Self.batchLimit)
                results += try conversation.carryOut(part)
                rest = rest.dropFirst(part.count)
            }
            return results
        }
    }

    /// Runs one exchange; after one that broke off in the middle its late answers must not be taken for the next one's.
    private mutating func whole<Result>(
        _ exchange: (inout Self) throws(NetlinkError) -> Result
    ) throws(NetlinkError) -> Result {
        do throws(NetlinkError) {
            return try exchange(&self)
        } catch {
            transport.drain()
            throw error
        }
    }

    private mutating func requestOnce(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage] {
        let sequence = nextSequence()
        try transport.send(request.encoded(sequence: sequence, adding: NLM_F_ACK))
        var answers: [NetlinkMessage] = []
        while true {
            for message in try receive(expecting: sequence...sequence) {
                guard Int32(message.type) == NLMSG_ERROR else {
                    answers.append(message)
                    continue
                }
                if let refusal = try message.verdict() { throw refusal }
                return answers
            }
        }
    }

    private mutating func nextSequence() -> UInt32 {
        sequence &+= 1
        return sequence
    }

    /// The messages of the next datagram.
    private mutating func receive(
        expecting sequences: ClosedRange<UInt32>
    ) throws(NetlinkError) -> [NetlinkMessage] {
        let messages = try NetlinkMessage.split(try transport.receive())
        for message in messages where !sequences.contains(message.sequence) {
            throw .wrongSequence(expected: sequences.upperBound, got: message.sequence)
        }
        return messages
    }

    /// Nil if the table changed while it was read.
    private mutating func dumpOnce(_ request: NetlinkRequest) throws(NetlinkError) -> [NetlinkMessage]? {
        let sequence = nextSequence()
        try transport.send(request.encoded(sequence: sequence, adding: NLM_F_DUMP))
        var answers: [NetlinkMessage] = []
        var changed = false
        while true {
            for message in try receive(expecting: sequence...sequence) {
                if Int32(message.flags) & NLM_F_DUMP_INTR != 0 { changed = true }
                guard [NLMSG_DONE, NLMSG_ERROR].contains(Int32(message.type)) else {
                    answers.append(message)
                    continue
                }
                if let refusal = try message.verdict() { throw refusal }
                return changed ? nil : answers
            }
        }
    }

    /// Sends the requests in one datagram; only failures and the last one are answered.
    private mutating func carryOut(_ requests: ArraySlice<NetlinkRequest>) throws(NetlinkError) -> [NetlinkError?] {
        // So that the numbers of one batch never wrap around.
        if sequence > .max - UInt32(Self.batchLimit) { sequence = 0 }
        var bytes: [UInt8] = []
        let first = sequence + 1
        for (offset, request) in requests.enumerated() {
            let isLast = offset == requests.count - 1
            bytes += request.encoded(sequence: nextSequence(), adding: isLast ? NLM_F_ACK : 0)
        }
        try transport.send(bytes)
        var results = [NetlinkError?](repeating: nil, count: requests.count)
        let last = sequence
        while true {
            for message in try receive(expecting: first...last) where Int32(message.type) == NLMSG_ERROR {
                results[Int(message.sequence - first)] = try message.verdict()
                if message.sequence == last { return results }
            }
        }
    }
}
