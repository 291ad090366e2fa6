import CShims

/// A message that arrived, as a view of the datagram that it came in.
package struct NetlinkMessage: Hashable, Sendable {
    package let type: UInt16
    /// `nlmsg_flags`.
    package let flags: UInt16
    package let sequence: UInt32
    package let payload: ArraySlice<UInt8>

    package init(type: UInt16, flags: UInt16, sequence: UInt32, payload: ArraySlice<UInt8>) {
        self.type = type
        self.flags = flags
        self.sequence = sequence
        self.payload = payload
    }

    /// Splits a datagram into its messages.
    ///
    /// - Throws: `malformed` where a length is below its header or beyond what is left.
    package static func split(_ datagram: [UInt8]) throws(NetlinkError) -> [NetlinkMessage] {
        var messages: [NetlinkMessage] = []
        var rest = datagram[...]
        while !rest.isEmpty {
            let header = try rest.load(nlmsghdr.self, "message header")
            let length = Int(header.nlmsg_len)
            guard length >= 16, length <= rest.count else {
                throw .malformed("message length \(length) with \(rest.count) bytes left")
            }
            messages.append(
                NetlinkMessage(
                    type: header.nlmsg_type,
                    flags: header.nlmsg_flags,
                    sequence: header.nlmsg_seq,
                    payload: rest.dropFirst(16).prefix(length - 16)
                )
            )
            rest = rest.dropFirst(aligned(length))
        }
        return messages
    }

    /// Reads the fixed header and the attributes behind it.
    ///
    /// - Throws: `malformed` if the payload is shorter than the header or an attribute doesn't fit.
    package func read<Header: BitwiseCopyable>(
        _ type: Header.Type
    ) throws(NetlinkError) -> (header: Header, attributes: NetlinkAttributes) {
        let header = try payload.load(Header.self, "fixed header")
        let size = aligned(MemoryLayout<Header>.size)
        return (header, try NetlinkAttributes(payload.dropFirst(size)))
    }

    /// What an `NLMSG_ERROR` or `NLMSG_DONE` says: nil for success.
    func verdict() throws(NetlinkError) -> NetlinkError? {
        guard !payload.isEmpty else { return nil }  // A bare NLMSG_DONE.
        let code = try payload.load(Int32.self, "error code")
        guard code != 0 else { return nil }
        return .refused(code: code == .min ? .max : -code, text: try extendedAcknowledgement())
    }

    /// The kernel's own words, behind the copied request (include/uapi/linux/netlink.h, `nlmsgerr_attrs`).
    private func extendedAcknowledgement() throws(NetlinkError) -> String? {
        guard flags & UInt16(NLM_F_ACK_TLVS) != 0 else { return nil }
        var start = 4
        if type == UInt16(NLMSG_ERROR) {
            let original = try payload.dropFirst(4).load(nlmsghdr.self, "copied request")
            start += flags & UInt16(NLM_F_CAPPED) != 0 ? 16 : aligned(max(16, Int(original.nlmsg_len)))
        }
        guard start <= payload.count else { throw .malformed("copied request beyond the message") }
        return try NetlinkAttributes(payload.dropFirst(start)).string(NLMSGERR_ATTR_MSG.rawValue)
    }
}

/// The next multiple of 4: everything in a netlink message starts at one.
func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

extension ArraySlice<UInt8> {
    /// The value at the start, in the machine's own byte order.
    func load<Value: BitwiseCopyable>(_ type: Value.Type, _ what: String) throws(NetlinkError) -> Value {
        guard count >= MemoryLayout<Value>.size else {
            throw .malformed("\(what) needs \(MemoryLayout<Value>.size) bytes, \(count) are left")
        }
        return unsafe withUnsafeBytes { unsafe $0.loadUnaligned(as: Value.self) }
    }
}
