import NetworkTypes

/// Commands of tunnelctl as a message names them: they can be pasted into a shell, whatever the names in them are.
package enum TunnelctlCommand {
    /// "tunnelctl export 'my home' --with-secrets".
    ///
    /// - Parameters:
    ///   - operands: names and the like, quoted where a shell would take them for something else.
    ///   - options: as they are written.
    package static func text(_ command: String, _ operands: String..., options: [String] = []) -> String {
        let words = operands.map(\.shellQuoted)
        let looksLikeOption = operands.contains { $0.hasPrefix("-") }
        let rest = looksLikeOption ? options + ["--"] + words : words + options
        return (["tunnelctl", command] + rest).joined(separator: " ")
    }
}
