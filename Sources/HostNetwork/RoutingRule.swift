import CShims
import Glibc
package import Netlink
package import NetworkTypes

/// A rule of ours that sends look-ups to a routing table (ip-rule(8)).
package struct RoutingRule: Hashable, Sendable, Codable {
    /// What the packet must be bound for; the prefix of length 0 for all of its family.
    @TextCoded package var destination: IPPrefix
    /// What it must come from, where that counts.
    package let source: TextCoded<IPPrefix>?
    /// The name of the interface that it must have come in by, where that counts.
    package let inputInterface: String?
    /// The lower comes first.
    package let priority: UInt32
    /// `nowhere`: the packet is unreachable.
    package let table: UInt32
    package let condition: Condition
    /// Routes of this prefix length and shorter don't count.
    package let suppressPrefixLength: UInt32?

    package static let nowhere = UInt32(RT_TABLE_UNSPEC.rawValue)

    package enum Condition: Hashable, Sendable, Codable {
        case always
        /// The packet doesn't carry the mark of our outer packets.
        case withoutOuterMark
        /// Datagrams that root sends from this UDP port, and in the reverse-path check those that come to it.
        case fromOuterPort(UInt16)
        /// Our own outer packets from this UDP port, but not our questions after their way.
        case outerPackets(fromPort: UInt16)
    }

    package init(
        to destination: IPPrefix,
        from source: IPPrefix? = nil,
        by inputInterface: String? = nil,
        priority: UInt32,
        table: UInt32,
        condition: Condition = .always,
        suppressPrefixLength: UInt32? = nil
    ) {
        self._destination = TextCoded(wrappedValue: destination)
        self.source = source.map { TextCoded(wrappedValue: $0) }
        self.inputInterface = inputInterface
        self.priority = priority
        self.table = table
        self.condition = condition
        self.suppressPrefixLength = suppressPrefixLength
    }

    package var add: NetlinkRequest {
        NetlinkRequest(RTM_NEWRULE, [.create, .exclusive]) { write(into: &$0) }
    }

    /// Takes away this rule and none of another owner: the kernel compares the protocol too.
    package var delete: NetlinkRequest { NetlinkRequest(RTM_DELRULE) { write(into: &$0) } }

    package static func dump(isIPv6: Bool) -> NetlinkRequest {
        NetlinkRequest(RTM_GETRULE) {
            var header = fib_rule_hdr()
            header.family = UInt8(isIPv6 ? AF_INET6 : AF_INET)
            $0.header(header)
        }
    }

    private func write(into writer: inout NetlinkWriter) {
        var header = fib_rule_hdr()
        header.family = destination.address.family
        header.dst_len = UInt8(destination.length)
        header.src_len = UInt8(source?.wrappedValue.length ?? 0)
        header.table = UInt8(RT_TABLE_UNSPEC.rawValue)
        header.action = UInt8(table == Self.nowhere ? FR_ACT_UNREACHABLE : FR_ACT_TO_TBL)
        writer.header(header)
        if destination.length > 0 { writer.put(FRA_DST, bytes: destination.address.bytes) }
        if let source = source?.wrappedValue { writer.put(FRA_SRC, bytes: source.address.bytes) }
        if let inputInterface { writer.put(FRA_IIFNAME, string: inputInterface) }
        writer.put(FRA_PRIORITY, priority)
        if table != Self.nowhere { writer.put(FRA_TABLE, table) }
        writer.put(FRA_PROTOCOL, Ownership.routingProtocol)
        if let suppressPrefixLength { writer.put(FRA_SUPPRESS_PREFIXLEN, suppressPrefixLength) }
        switch condition {
        case .always: break
        case .withoutOuterMark:
            // "The bit is 0": an inverted rule would invert the destination too.
            writer.put(FRA_FWMARK, UInt32(0))
            writer.put(FRA_FWMASK, Ownership.outerMask)
        case .fromOuterPort(let port):
            writer.put(FRA_IP_PROTO, UInt8(IPPROTO_UDP))
            writer.put(FRA_SPORT_RANGE, raw: fib_rule_port_range(start: port, end: port))
            writer.put(FRA_UID_RANGE, raw: fib_rule_uid_range(start: 0, end: 0))
        case .outerPackets(let port):
            writer.put(FRA_FWMARK, Ownership.outerMark)
            writer.put(FRA_FWMASK, Ownership.outerMask | Ownership.questionMark)
            writer.put(FRA_IP_PROTO, UInt8(IPPROTO_UDP))
            writer.put(FRA_SPORT_RANGE, raw: fib_rule_port_range(start: port, end: port))
        }
    }
}

/// A rule as it stands in the kernel, as far as we need to know others' rules.
package struct KernelRule: Hashable, Sendable {
    package let priority: UInt32
    package let table: UInt32
    /// `FRA_PROTOCOL`: who made it.
    package let owner: UInt8
    /// The rule in our own words; nil if we never write such a rule.
    package let rule: RoutingRule?

    package var isOurs: Bool { owner == Ownership.routingProtocol }

    package init(priority: UInt32, table: UInt32, owner: UInt8, rule: RoutingRule?) {
        self.priority = priority
        self.table = table
        self.owner = owner
        self.rule = rule
    }

    /// Reads an `RTM_NEWRULE`.
    package init(_ message: NetlinkMessage) throws(NetlinkError) {
        let (header, attributes) = try message.read(fib_rule_hdr.self)
        priority = attributes.number(FRA_PRIORITY) ?? 0
        table = attributes.number(FRA_TABLE) ?? UInt32(header.table)
        owner = attributes.number(FRA_PROTOCOL) ?? 0
        let any: IPAddress = Int32(header.family) == AF_INET6 ? .v6(.any) : .v4(.any)
        let address = try attributes.address(FRA_DST) ?? any
        guard let destination = IPPrefix(address, length: Int(header.dst_len)) else {
            throw .malformed("a rule for \(address)/\(header.dst_len)")
        }
        let source = try attributes.address(FRA_SRC).flatMap { IPPrefix($0, length: Int(header.src_len)) }
        rule = KernelRule.condition(header, attributes).map { [priority, table] condition in
            let suppress: UInt32? = attributes.number(FRA_SUPPRESS_PREFIXLEN)
            return RoutingRule(
                to: destination,
                from: source,
                by: attributes.string(FRA_IIFNAME),
                priority: priority,
                table: table,
                condition: condition,
                suppressPrefixLength: suppress == .max ? nil : suppress
            )
        }
    }

    private static func condition(_ header: fib_rule_hdr, _ attributes: NetlinkAttributes) -> RoutingRule.Condition? {
        let table: UInt32 = attributes.number(FRA_TABLE) ?? UInt32(header.table)
        let action = Int(table == RoutingRule.nowhere ? FR_ACT_UNREACHABLE : FR_ACT_TO_TBL)
        guard Int(header.action) == action, header.tos == 0, header.flags & UInt32(FIB_RULE_INVERT) == 0,
            attributes[FRA_OIFNAME] == nil
        else { return nil }
        let mark = attributes.number(FRA_FWMARK, as: UInt32.self) ?? 0
        let mask = attributes.number(FRA_FWMASK, as: UInt32.self) ?? 0
        let ports = attributes.value(FRA_SPORT_RANGE, as: fib_rule_port_range.self)
        switch (mark, mask, ports) {
        case (0, 0, nil): return .always
        case (0, Ownership.outerMask, nil): return .withoutOuterMark
        case (0, 0, let ports?) where ports.start == ports.end: return .fromOuterPort(ports.start)
        case (Ownership.outerMark, Ownership.outerMask | Ownership.questionMark, let ports?)
        where ports.start == ports.end:
            return .outerPackets(fromPort: ports.start)
        default: return nil
        }
    }
}
