import CShims
import Glibc
import Testing

@testable import Netlink

@Suite struct NetlinkConversationTests {
    let anything = NetlinkRequest(RTM_GETLINK) { $0.header(ifinfomsg()) }

    @Test func `a request gets the answers that come before its acknowledgement`() throws {
        var conversation = NetlinkConversation(
            Script([[.answer(1, [1, 2, 3, 4]), .acknowledgement(1)], [.acknowledgement(2)]])
        )
        let answers = try conversation.request(anything)
        #expect(answers.map { Array($0.payload) } == [[1, 2, 3, 4]])
        #expect(try conversation.request(anything) == [])
    }

    @Test func `a refusal carries the kernel's own words`() throws {
        var conversation = NetlinkConversation(Script([[.refusal(1, EEXIST, "Address already assigned")]]))
        #expect(throws: NetlinkError.refused(code: EEXIST, text: "Address already assigned")) {
            try conversation.request(anything)
        }
        let text = NetlinkError.refused(code: EEXIST, text: "Address already assigned").description
        #expect(text == "Address already assigned (EEXIST)")
        #expect(NetlinkError.refused(code: EPERM, text: nil).description == "Operation not permitted (EPERM)")
    }

    @Test func `an answer to another request is an error, and what follows it is thrown away`() throws {
        var conversation = NetlinkConversation(Script([[.acknowledgement(7)], [.acknowledgement(2)]]))
        #expect(throws: NetlinkError.wrongSequence(expected: 1, got: 7)) { try conversation.request(anything) }
        #expect(throws: NetlinkError.malformed("the script is at its end")) { try conversation.request(anything) }
    }

    @Test func `an interrupted dump is read again`() throws {
        var conversation = NetlinkConversation(
            Script([
                [.answer(1, [1, 0, 0, 0], flags: NLM_F_DUMP_INTR)], [.answer(1, [2, 0, 0, 0]), .done(1)],
                [.answer(2, [3, 0, 0, 0])], [.answer(2, [4, 0, 0, 0])], [.done(2)],
            ])
        )
        #expect(try conversation.dump(anything).map(\.payload.first) == [3, 4])
    }

    @Test func `a dump that never stays whole ends in an error`() throws {
        var conversation = NetlinkConversation(
            Script((1...100).map { [.answer($0, [0, 0, 0, 0], flags: NLM_F_DUMP_INTR), .done($0)] })
        )
        #expect(throws: NetlinkError.interrupted) { try conversation.dump(anything) }
    }

    @Test func `each request of a batch has its own result, also where the numbers wrap around`() throws {
        for start in [0, UInt32.max - 1] {
            let first: UInt32 = 1
            var conversation = NetlinkConversation(
                Script([
                    [.refusal(first + 1, ESRCH, nil)], [.acknowledgement(first + 127)],
                    [.refusal(first + 129, EEXIST, "taken")],
                ]),
                sequence: start
            )
            let results = try conversation.batch([NetlinkRequest](repeating: anything, count: 130))
            #expect(results.count == 130)
            #expect(results[1] == .refused(code: ESRCH, text: nil))
            #expect(results[129] == .refused(code: EEXIST, text: "taken"))
            #expect(results.compactMap { $0 }.count == 2)
        }
    }

    @Test func `a real socket reads the loopback link and names what it refuses`() throws {
        let socket = try RouteSocket()
        let get = NetlinkRequest(RTM_GETLINK) {
            $0.header(ifinfomsg())
            $0.put(IFLA_IFNAME, string: "lo")
        }
        let link = try #require(try socket.request(get).first)
        #expect(try link.read(ifinfomsg.self).attributes.string(IFLA_IFNAME) == "lo")
        let nonsense = NetlinkRequest(RTM_GETROUTE) {
            var header = rtmsg()
            header.rtm_family = UInt8(AF_INET)
            header.rtm_dst_len = 99
            $0.header(header)
        }
        #expect {
            try socket.request(nonsense)
        } throws: { error in
            guard case .refused(EINVAL, let text?) = error as? NetlinkError else { return false }
            return !text.isEmpty
        }
        #expect(try socket.dump(NetlinkRequest(RTM_GETLINK) { $0.header(ifinfomsg()) }).isEmpty == false)
    }
}

extension NetlinkConversationTests {
    @Test func `datagrams longer than the buffer are read whole`() throws {
        // A link's message has more than 1,000 bytes, and comes in a datagram of its own or with others.
        var conversation = NetlinkConversation(try KernelTransport(bufferSize: 64))
        let links = try conversation.dump(anything)
        #expect(try links.map { try $0.read(ifinfomsg.self).attributes.string(IFLA_IFNAME) }.contains("lo"))
        let get = NetlinkRequest(RTM_GETLINK) {
            $0.header(ifinfomsg())
            $0.put(IFLA_IFNAME, string: "lo")
        }
        var other = NetlinkConversation(try KernelTransport(bufferSize: 16))
        #expect(try other.request(get).first?.payload.count ?? 0 > 500)
    }
}

/// Datagrams that arrive one after another, whatever is asked.
private struct Script: NetlinkTransport {
    enum Part {
        case answer(UInt32, [UInt8], flags: Int32 = 0)
        case acknowledgement(UInt32)
        case done(UInt32)
        case refusal(UInt32, Int32, String?)

        var bytes: [UInt8] {
            var body = NetlinkWriter()
            switch self {
            case .answer(let sequence, let payload, let flags):
                return message(RTM_NEWLINK, flags, sequence, payload)
            case .acknowledgement(let sequence):
                body.header(nlmsgerr())
                return message(NLMSG_ERROR, NLM_F_CAPPED, sequence, body.bytes)
            case .done(let sequence):
                body.header(Int32(0))
                return message(NLMSG_DONE, NLM_F_MULTI, sequence, body.bytes)
            case .refusal(let sequence, let code, let text):
                var header = nlmsgerr()
                header.error = -code
                body.header(header)
                if let text { body.put(NLMSGERR_ATTR_MSG.rawValue, string: text) }
                return message(NLMSG_ERROR, NLM_F_CAPPED | (text == nil ? 0 : NLM_F_ACK_TLVS), sequence, body.bytes)
            }
        }

        private func message(_ type: Int, _ flags: Int32, _ sequence: UInt32, _ body: [UInt8]) -> [UInt8] {
            message(Int32(type), flags, sequence, body)
        }

        private func message(_ type: Int32, _ flags: Int32, _ sequence: UInt32, _ body: [UInt8]) -> [UInt8] {
            var writer = NetlinkWriter()
            writer.header(
                nlmsghdr(
                    nlmsg_len: UInt32(16 + body.count),
                    nlmsg_type: UInt16(type),
                    nlmsg_flags: UInt16(flags),
                    nlmsg_seq: sequence,
                    nlmsg_pid: 0
                )
            )
            return writer.bytes + body
        }
    }

    private var datagrams: ArraySlice<[Part]>

    init(_ datagrams: [[Part]]) { self.datagrams = datagrams[...] }

    mutating func send(_ datagram: [UInt8]) throws(NetlinkError) {}

    mutating func receive() throws(NetlinkError) -> [UInt8] {
        guard let next = datagrams.popFirst() else { throw .malformed("the script is at its end") }
        return next.flatMap(\.bytes)
    }

    mutating func drain() { datagrams = [] }
}
