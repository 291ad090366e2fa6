import CNftables
import LinuxSystem

/// A connection of libnftables to the kernel, for one thread at a time.
@safe struct NftablesContext: ~Copyable {
    private let context: OpaquePointer

    /// Works in the network namespace of the thread that makes it.
    ///
    /// The caller has opened a socket of NETLINK_NETFILTER before: libnftables ends the process where it can't.
    /// - Throws: where there is no memory.
    init() throws(BlockError) {
        guard let context = unsafe nft_ctx_new(UInt32(NFT_CTX_DEFAULT)) else {
            throw .load("libnftables can't be set up")
        }
        unsafe self.context = unsafe context
        _ = unsafe nft_ctx_buffer_output(context)
        _ = unsafe nft_ctx_buffer_error(context)
        // Without counters a listing changes only with the rules; with handles it shows that they are the same ones.
        unsafe nft_ctx_output_set_flags(
            context,
            UInt32(NFT_CTX_OUTPUT_STATELESS | NFT_CTX_OUTPUT_HANDLE)
        )
    }

    deinit { unsafe nft_ctx_free(context) }

    /// Carries out a script as one transaction: all of it or nothing.
    ///
    /// - Returns: what it prints.
    /// - Throws: with nftables' own words.
    @discardableResult
    func run(_ script: String) throws(NftablesError) -> String {
        if !script.hasPrefix("list ") {
            do throws(SystemError) {
                try FaultPoint.reach("nftables \(script.split(separator: " ").prefix(2).joined(separator: " "))")
            } catch {
                throw NftablesError(text: error.description)
            }
        }
        let code = unsafe nft_run_cmd_from_buffer(context, script)
        let output = unsafe Self.text(nft_ctx_get_output_buffer(context))
        let error = unsafe Self.text(nft_ctx_get_error_buffer(context))
        guard code == 0 else { throw NftablesError(text: Self.firstLine(of: error)) }
        return output
    }

    /// Everything that our tables have.
    ///
    /// - Throws: where one of them isn't there.
    func list() throws(NftablesError) -> String {
        var text = ""
        // One by one: libnftables reads only what the last of several asks for.
        for table in BlockTable.allCases { text += try run("list table \(table.name)\n") }
        return text
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        unsafe pointer.map { unsafe String(cString: $0) } ?? ""
    }

    /// "Error: Could not process rule: Operation not permitted" of what stands above the script's line.
    private static func firstLine(of error: String) -> String {
        let line = error.split(separator: "\n").first.map(String.init) ?? "nftables gave no reason"
        guard let start = line.firstRange(of: "Error: ") else { return line }
        return String(line[start.upperBound...])
    }
}

/// What nftables says against a script; nothing of it is in force.
struct NftablesError: Error, Hashable, Sendable, CustomStringConvertible {
    let text: String

    var description: String { text }
}
