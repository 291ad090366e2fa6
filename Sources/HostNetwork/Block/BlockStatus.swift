import LinuxSystem

/// The block as it is now.
package struct BlockStatus: Hashable, Sendable {
    /// Whether traffic outside of the tunnels is blocked.
    package var isInForce = false
    /// Since when, in milliseconds since 1970; nil while it isn't.
    package var sinceMilliseconds: Int64?
    /// Those for which it stands, by identifier.
    package var holders: [String: BlockMember] = [:]
    /// How often its rules were put back that others had removed or changed.
    package var restored = 0
    package var lastRestoredMilliseconds: Int64?
    /// Why it can't be put back, while it can't.
    package var problem: String?

    package init() {}
}

/// What happened to the block, for the log.
package enum BlockIncident: Sendable {
    /// Others had removed or changed its rules; they are back.
    case restored(count: Int)
    /// They can't be put back; it's tried again.
    case failed(BlockError)
}

/// Traffic could not be blocked, or the block not be changed.
package struct BlockError: Error, Hashable, Sendable, CustomStringConvertible {
    package let what: String
    package let why: String
    package let remedy: String

    package var description: String { "\(what) \(why) \(remedy)" }

    private static let kernelRemedy =
        "The kernel must have nftables (nf_tables, nf_tables_inet, nft_socket and "
        + "nf_tables_netdev with egress hooks, Linux 5.16 or newer), and tunneld CAP_NET_ADMIN."

    static func load(_ why: some CustomStringConvertible) -> BlockError {
        BlockError(
            what: "Traffic outside of the tunnel can't be blocked.",
            why: "nftables: \(why).",
            remedy: kernelRemedy
        )
    }

    static func remove(_ why: some CustomStringConvertible) -> BlockError {
        BlockError(
            what: "The block can't be lifted.",
            why: "nftables: \(why).",
            remedy: "By hand: nft delete table inet tunneld; nft delete table netdev tunneld."
        )
    }

    static func state(_ file: String, _ why: SystemError) -> BlockError {
        BlockError(
            what: "Traffic outside of the tunnel can't be blocked.",
            why: "What is blocked can't be written to \(file): \(why).",
            remedy: why.fileRemedy(file)
        )
    }

    static func name(_ link: String) -> BlockError {
        BlockError(
            what: "Traffic outside of the tunnel can't be blocked.",
            why: "nftables can't name the interface \(link).",
            remedy: "Give it a name without quotes, backslashes and stars."
        )
    }
}
