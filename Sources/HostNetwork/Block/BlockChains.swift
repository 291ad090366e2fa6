/// The fixed part of the ruleset.
enum BlockChains {
    /// The mark and the user that opened the socket: a mark alone can be set by everybody with CAP_NET_RAW.
    private static let ours = "meta mark & \(hex(Ownership.outerMask)) == \(hex(Ownership.outerMark)) meta skuid 0"
    /// What goes to a socket with that mark.
    ///
    /// Of a packet that comes in the kernel knows the socket only by asking for it, and of that the mark alone; it finds one
    /// that is connected for what comes from its server, and for nothing else.
    private static let toOurs = "socket mark & \(hex(Ownership.outerMask)) == \(hex(Ownership.outerMark))"
    private static let forwarded = hex(Ownership.forwardedMark)

    private static func hex(_ number: UInt32) -> String { "0x" + String(number, radix: 16) }

    /// To the peers and to nobody else; look-ups not from an outer socket, which a provider holds.
    private static let outer = """
        \tchain outer {
        \t\tip daddr . udp dport @peers4 accept
        \t\tip6 daddr . udp dport @peers6 accept
        \t\tudp sport @gateways accept
        \t\tudp dport @lookups udp sport != @ports accept
        \t\ttcp dport @lookups accept

        """

    private static let neighbours = "{ nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert }"
    private static let listeners =
        "{ mld-listener-query, mld-listener-report, mld-listener-done, mld2-listener-report }"

    /// What a link needs to work at all (RFC 4861, 3810, 2131, 8415).
    ///
    /// What other users than root send in these shapes must stay on the link: a hop limit of 255 and a port of DHCP go
    /// round the world. The kernel's own packets have no user, and go where they belong.
    private static let link = """
        \tchain others {
        \t\ticmpv6 type \(neighbours) ip6 daddr != { fe80::/10, ff02::/16 } drop
        \t\tudp dport 67 ip daddr != { 255.255.255.255, 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 169.254.0.0/16 } drop
        \t\tudp dport 547 ip6 daddr != { fe80::/10, ff02::1:2, ff05::1:3 } drop
        \t}
        \tchain link {
        \t\tmeta skuid != 0 jump others
        \t\tip6 hoplimit 255 icmpv6 type \(neighbours) accept
        \t\tip6 daddr ff00::/8 ip6 hoplimit 1 icmpv6 type \(listeners) accept
        \t\tmeta protocol ip udp sport 68 udp dport 67 accept
        \t\tmeta protocol ip6 udp sport 546 udp dport 547 accept
        \t}

        """

    /// The local networks but for their name servers, by which every name would get out.
    private static let local = """
        \tchain local {
        \t\tmeta l4proto { tcp, udp } th dport { 53, 853 } return
        \t\tip daddr @local4 accept
        \t\tip6 daddr @local6 accept
        \t}

        """

    /// What is sent and received through the IP stack.
    ///
    /// Errors of ICMP may come in: the path's MTU is learnt from them, and nothing answers them. So may the later fragments of
    /// IPv6, which are put together behind this hook, and are nothing without their first. Of what comes from a name server's
    /// port only answers to a look-up that runs may: its sockets are connected to their server, and gone with their answer.
    static let inet =
        outer + "\t}\n" + link + local + """
            \tchain output {
            \t\ttype filter hook output priority filter; policy drop;
            \t\toifname "lo" accept
            \t\toifname @tunnels accept
            \t\t\(ours) jump outer
            \t\tjump link
            \t\tjump local
            \t\tcounter comment "blocked"
            \t}
            \tchain input {
            \t\ttype filter hook input priority filter; policy drop;
            \t\tiifname "lo" accept
            \t\tiifname @tunnels accept
            \t\tip saddr . udp sport @peers4 udp dport @ports accept
            \t\tip6 saddr . udp sport @peers6 udp dport @ports accept
            \t\tudp dport @gateways accept
            \t\tfrag frag-off != 0 accept
            \t\tudp sport @lookups udp dport != @ports \(toOurs) accept
            \t\ttcp sport @lookups tcp flags & (syn | ack) != syn \(toOurs) accept
            \t\ticmp type { destination-unreachable, time-exceeded, parameter-problem } accept
            \t\ticmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem } accept
            \t\tip6 hoplimit 255 icmpv6 type { nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert, nd-redirect } accept
            \t\ticmpv6 type \(listeners) accept
            \t\tmeta protocol ip udp sport 67 udp dport 68 accept
            \t\tmeta protocol ip6 udp sport 547 udp dport 546 accept
            \t\tip saddr @local4 accept
            \t\tip6 saddr @local6 accept
            \t\tcounter comment "blocked"
            \t}
            \tchain forward {
            \t\ttype filter hook forward priority filter; policy drop;
            \t\toifname @tunnels accept
            \t\tiifname @tunnels meta mark set meta mark | \(forwarded) accept
            \t\tip saddr @local4 jump local
            \t\tip6 saddr @local6 jump local
            \t\tcounter comment "blocked"
            \t}

            """

    /// What leaves by a link.
    ///
    /// A packet socket may state another protocol than the frame has (`sll_protocol`, packet(7)), so for users other than
    /// root the frame's own type counts as well, behind a VLAN's tag too. What says that it is ARP must be (RFC 826): a
    /// request or an answer for IPv4 on Ethernet and nothing behind it, or from a bridge no more than Ethernet's padding.
    /// Frames of 802.1X come from root or the kernel; without them no Wi-Fi stays connected. A packet that has a user and came
    /// this far is not permitted; one that has none was forwarded, or is the kernel's, and only the chain for forwarding sets
    /// that mark. Of a datagram that is sent in fragments the first one shows where it goes.
    static let netdev =
        outer + """
            \t\tip frag-off & 0x1fff != 0 accept
            \t\tfrag frag-off != 0 accept
            \t}

            """ + link + local + """
            \tchain frames {
            \t\tmeta protocol != { ip, ip6, arp } drop
            \t\tmeta protocol ip @ll,96,16 != 0x0800 @ll,96,16 != 0x8100 drop
            \t\tmeta protocol ip @ll,96,16 0x8100 @ll,128,16 != 0x0800 drop
            \t\tmeta protocol ip6 @ll,96,16 != 0x86dd @ll,96,16 != 0x8100 drop
            \t\tmeta protocol ip6 @ll,96,16 0x8100 @ll,128,16 != 0x86dd drop
            \t\tmeta protocol arp @ll,96,16 != 0x0806 @ll,96,16 != 0x8100 drop
            \t\tmeta protocol arp @ll,96,16 0x8100 @ll,128,16 != 0x0806 drop
            \t\tmeta protocol arp meta iiftype != ether drop
            \t\t@ll,96,16 0x0806 meta length > 42 drop
            \t\t@ll,96,16 0x8100 @ll,128,16 0x0806 meta length > 46 drop
            \t}
            \tchain resolution {
            \t\tmeta length < 42 drop
            \t\tmeta length > 64 drop
            \t\t@ll,96,16 0x0806 @ll,112,48 != 0x000108000604 drop
            \t\t@ll,96,16 0x0806 @ll,160,16 != { 1, 2 } drop
            \t\t@ll,96,16 0x8100 @ll,128,16 0x0806 @ll,144,48 != 0x000108000604 drop
            \t\t@ll,96,16 0x8100 @ll,128,16 0x0806 @ll,192,16 != { 1, 2 } drop
            \t}
            \tchain egress {
            \t\tmeta protocol @carriers accept
            \t\tmeta skuid != 0 jump frames
            \t\tmeta protocol arp meta iiftype ether jump resolution
            \t\tmeta protocol { arp, 0x888e, 0x88c7 } accept
            \t\t\(ours) jump outer
            \t\tjump link
            \t\tjump local
            \t\tmeta skuid >= 0 return
            \t\tmeta mark & \(forwarded) == \(forwarded) accept
            \t}

            """
}
