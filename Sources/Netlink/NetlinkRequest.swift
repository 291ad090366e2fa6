import CShims

/// A message for the kernel, without the sequence number that the socket gives it.
package struct NetlinkRequest: Hashable, Sendable {
    /// The `nlmsg_flags` that callers choose; the socket adds its own.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// Make it where it isn't there yet.
        package static let create = Flags(rawValue: UInt16(NLM_F_CREATE))
        /// Fail with EEXIST where it is there already.
        package static let exclusive = Flags(rawValue: UInt16(NLM_F_EXCL))
        package static let replace = Flags(rawValue: UInt16(NLM_F_REPLACE))
        package static let append = Flags(rawValue: UInt16(NLM_F_APPEND))
    }

    /// `RTM_NEWROUTE` and the like.
    package let type: UInt16
    package let flags: Flags
    package let body: [UInt8]

    package init(_ type: some BinaryInteger, _ flags: Flags = [], _ write: (inout NetlinkWriter) -> Void) {
        self.type = UInt16(type)
        self.flags = flags
        var writer = NetlinkWriter()
        write(&writer)
        body = writer.bytes
    }

    /// The whole message as it goes to the kernel.
    func encoded(sequence: UInt32, adding more: Int32) -> [UInt8] {
        var header = nlmsghdr()
        header.nlmsg_len = UInt32(16 + body.count)
        header.nlmsg_type = type
        header.nlmsg_flags = flags.rawValue | UInt16(NLM_F_REQUEST | more)
        header.nlmsg_seq = sequence
        var writer = NetlinkWriter()
        writer.header(header)
        return writer.bytes + body
    }
}
