package import ControlAPI
import FoundationEssentials
import NetworkTypes

/// How tunnelctl talks: text for a person or JSON on standard output, errors and notes on standard error.
package struct Console: Sendable {
    private let output: any TextSink
    private let errors: any TextSink
    /// Whether JSON was asked for.
    package let json: Bool
    private let colour: Bool
    /// Whether a person sees the output as it comes.
    package let isTerminal: Bool

    package init(output: any TextSink, errors: any TextSink, json: Bool, isTerminal: Bool, colour: Bool) {
        self.output = output
        self.errors = errors
        self.json = json
        self.isTerminal = isTerminal
        self.colour = colour
    }

    package func print(_ line: StyledText) throws(OutputClosed) {
        try output.write(line.rendered(colour: colour) + "\n")
    }

    package func print(_ lines: [StyledText]) throws(OutputClosed) {
        try output.write(lines.reduce(into: "") { $0 += $1.rendered(colour: colour) + "\n" })
    }

    /// Prints bytes as they are: a file that holds secrets, which no `String` shall keep.
    func print(bytes: [UInt8]) throws(OutputClosed) {
        try unsafe output.write(bytes.span.bytes)
    }

    /// Prints a text of several lines as it is, for a file; on a terminal without what could steer it.
    package func printFile(_ text: String) throws(OutputClosed) {
        guard isTerminal else { return try output.write(text) }
        try print(text.split(separator: "\n", omittingEmptySubsequences: false).dropLast(1).map { StyledText("\($0)") })
    }

    /// Prints one JSON document: in lines with indents, or as one line where more follow.
    package func print(json value: some Encodable, streaming: Bool = false) throws {
        try output.write(Self.encode(value, pretty: !streaming) + "\n")
    }

    /// Tells something beside the output, on standard error; with `--json`, nothing.
    package func note(_ line: StyledText) {
        guard !json else { return }
        // There is nobody left to tell where standard error is gone.
        try? errors.write("tunnelctl: " + line.rendered(colour: colour) + "\n")
    }

    /// Asks something, on standard error, in the same line as the answer.
    func prompt(_ text: String) { try? errors.write(text) }

    /// Tells an error on standard error: what failed, why, what to do; or as a JSON document of the same.
    package func report(_ error: ControlError) {
        if json, let text = try? Self.encode(error, pretty: false) {
            try? errors.write(text + "\n")
            return
        }
        var lines: [StyledText] = ["tunnelctl: \(error.message, .bad)"]
        if let field = error.field { lines.append("  at: \(field)") }
        if let reason = error.reason { lines.append("  why: \(reason)") }
        if let own = error.underlying { lines.append("  provider: \(own.domain) \(own.code): \(own.message)") }
        if let remedy = error.remedy { lines.append("  do: \(remedy)") }
        try? errors.write(lines.reduce(into: "") { $0 += $1.rendered(colour: colour) + "\n" })
    }

    /// So many faults of a file are told to a person: who has mended them will try again.
    private static let shownFaults = 20

    /// Tells the faults of a file: a headline and a line for each; or a JSON document for each.
    func report(_ failure: ImportFailure) {
        guard !json else { return failure.listed.forEach(report) }
        var lines: [StyledText] = ["tunnelctl: \(failure.headline, .bad)"]
        let shown = failure.faults.prefix(Self.shownFaults)
        for fault in shown { lines.append("  \(fault.message)\(fault.remedy.map { " \($0)" } ?? "")") }
        let rest = failure.count - shown.count
        if rest > 0 { lines.append("  and \(QuantityText.count(UInt64(rest))) more") }
        try? errors.write(lines.reduce(into: "") { $0 += $1.rendered(colour: colour) + "\n" })
    }

    /// A JSON value in lines with indents.
    static func jsonLines(_ value: some Encodable) throws -> [String] {
        try encode(value, pretty: true).split(separator: "\n").map(String.init)
    }

    /// A JSON value in one line.
    static func jsonLine(_ value: some Encodable) throws -> String { try encode(value, pretty: false) }

    private static func encode(_ value: some Encodable, pretty: Bool) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return String(decoding: try encoder.encode(value), as: UTF8.self).escapedInsideJSON
    }
}
