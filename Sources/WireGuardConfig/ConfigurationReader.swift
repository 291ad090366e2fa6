import NetworkTypes

/// Reads a `.conf` file of wg(8) and wg-quick(8) whole, and reports on each line.
///
/// It works on bytes: in a Swift `Character` CR and LF are one, and "#" with a combining mark isn't "#".
package struct ConfigurationReader: ~Copyable {
    package static let maximumFileBytes = 16 << 20
    package static let maximumLineBytes = 64 << 10
    package static let maximumPeers = 1 << 16

    private enum Place { case none, interface, peer, unknown }

    private var place = Place.none
    private var comments = (count: 0, line: 0)
    var interface = InterfaceDraft()
    var peers: [PeerDraft] = []
    var secrets = ConfigurationSecrets()
    var report = ImportReport()
    var errors = ImportErrors()
    /// Of the last line with a fault: a long line may have very many.
    private var valueHint: (line: Int, hint: String?) = (0, nil)

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - bytes: the file; whoever read it wipes it, for it holds secrets.
    ///   - storedPrivateKey: the reference that counts where the file has no PrivateKey; with nil the file needs one.
    ///   - publicKey: computes the public key of a private one, to find a tunnel that leads to itself; may answer nil.
    /// - Throws: all errors of the file at once.
    package static func read(
        _ bytes: [UInt8],
        storedPrivateKey: String? = nil,
        publicKey: (RawSpan) -> WireGuardPublicKey? = { _ in nil }
    ) throws(ImportErrors) -> ImportResult {
        var reader = ConfigurationReader()
        if let problem = problem(ofWhole: bytes) {
            reader.fail(line: 0, problem)
            throw reader.errors
        }
        let hasMark = bytes.starts(with: [0xef, 0xbb, 0xbf])
        for line in FileLines(of: bytes, from: hasMark ? 3 : 0) { reader.read(line) }
        return try reader.finish(storedPrivateKey: storedPrivateKey, publicKey: publicKey)
    }

    private static func problem(ofWhole bytes: [UInt8]) -> ValueProblem? {
        if bytes.count > maximumFileBytes {
            return ValueProblem("the file is larger than the limit of 16 MiB")
        }
        if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
            return ValueProblem("the file is UTF-16", hint: "Save it as UTF-8.")
        }
        guard TextCheck.isText(bytes) else {
            return ValueProblem(
                "the file isn't text",
                hint: "Look whether it is the right file: a configuration is text in UTF-8, and has an [Interface]."
            )
        }
        return nil
    }

    private init() {}

    private mutating func read(_ line: FileLines.Line) {
        guard line.bytes.count <= Self.maximumLineBytes else {
            fail(line: line.number, ValueProblem("the line is longer than the limit of 64 KiB"))
            return
        }
        let hash = line.bytes.firstIndex(of: UInt8(ascii: "#"))
        let content = line.bytes[..<(hash ?? line.bytes.endIndex)]
        let text = content.trimmed
        let equals = text.firstIndex(of: UInt8(ascii: "="))
        let key = equals.flatMap { FileKey.named(text[..<$0].trimmed) }
        // A hook's value goes to the end of the line: "#" means something to a shell, too.
        let isHook = key?.hookEvent != nil
        if hash != nil, !isHook {
            if comments.count == 0 { comments.line = line.number }
            comments.count += 1
        }
        guard !text.isEmpty else { return }
        if let problem = TextCheck.problem(of: isHook ? line.bytes : content, in: "line") {
            fail(line: line.number, key: key, problem)
            if let key { markSeen(key, line: line.number) }
        } else if text.first == UInt8(ascii: "[") {
            readHeader(text, line: line.number)
        } else if place == .unknown {
            return  // Its section was refused, and with it all that stands in it.
        } else if let equals, let key {
            let value = isHook ? line.bytes[(equals + 1)...].trimmed : text[(equals + 1)...].trimmed
            let column = value.startIndex - line.bytes.startIndex + 1
            read(FileValue(line: line.number, column: column, key: key, text: value))
        } else {
            let section = section
            fail(line: line.number, LineProblem.of(text, equals: equals, section: section))
        }
    }

    private mutating func readHeader(_ text: ArraySlice<UInt8>, line: Int) {
        let end = text.firstIndex(of: UInt8(ascii: "]"))
        let name = text[(text.startIndex + 1)..<(end ?? text.endIndex)].trimmed
        if name.equalsIgnoringCase("interface") {
            place = .interface
            if let earlier = interface.line {
                report.add(.warning, line: line, "this [Interface] is merged with the one on line \(earlier)")
            } else {
                interface.line = line
            }
        } else if name.equalsIgnoringCase("peer") {
            guard peers.count < Self.maximumPeers else {
                place = .unknown
                fail(line: line, ValueProblem("the file has more than \(Self.maximumPeers) peers"))
                return
            }
            place = .peer
            peers.append(PeerDraft(line: line))
        } else {
            place = .unknown
            fail(line: line, LineProblem.ofSection(name))
            return
        }
        if end == nil {
            fail(line: line, ValueProblem("the ] of the section's header is missing"))
        } else if let end, end + 1 < text.endIndex {
            fail(line: line, ValueProblem("something stands behind the ]", hint: "Begin a new line there."))
        }
    }

    private var section: FileKey.Section? {
        switch place {
        case .interface: .interface
        case .peer: .peer
        case .none, .unknown: nil
        }
    }

    private mutating func read(_ value: FileValue) {
        guard let section else {
            let problem = ValueProblem("stands before any section", hint: "A file begins with [Interface].")
            fail(line: value.line, key: value.key, problem)
            return
        }
        guard value.key.section == section else {
            let reason = "belongs in [\(value.key.section.rawValue)], not in [\(section.rawValue)]"
            fail(line: value.line, key: value.key, ValueProblem(reason, hint: "Move the line there."))
            return
        }
        if let earlier = markSeen(value.key, line: value.line), !value.key.accumulates {
            let text = "stands on line \(earlier) already; this one on line \(value.line) counts"
            report.add(.warning, line: value.line, key: value.key.rawValue, text)
            report.supersede(key: value.key.rawValue, line: earlier, by: value.line)
        }
        if !value.text.isEmpty {
            store(value)
        } else if value.key.accumulates {
            note(value, .warning, "has no value and is left out")
        } else {
            fail(value, ValueProblem("has no value", hint: "Write one, or leave out the line."))
        }
    }

    /// Remembers the line of a key in the present section, and answers the earlier one.
    @discardableResult
    private mutating func markSeen(_ key: FileKey, line: Int) -> Int? {
        switch place {
        case .interface: return interface.seen.updateValue(line, forKey: key)
        case .peer: return peers[peers.count - 1].seen.updateValue(line, forKey: key)
        case .none, .unknown: return nil
        }
    }
}

extension ConfigurationReader {
    /// - Parameter problem: not computed when no more errors are listed.
    mutating func fail(line: Int, key: FileKey? = nil, _ problem: @autoclosure () -> ValueProblem) {
        guard !errors.isFull else {
            errors.omit()
            return
        }
        let problem = problem()
        let error = ImportError(
            line: line,
            column: nil,
            key: key?.rawValue,
            reason: problem.reason,
            hint: problem.hint
        )
        errors.add(error)
    }

    /// - Parameter item: the part of the value that is at fault.
    mutating func fail(_ value: FileValue, _ problem: ValueProblem, item: ArraySlice<UInt8>? = nil) {
        guard !errors.isFull else {
            errors.omit()
            return
        }
        if valueHint.line != value.line { valueHint = (value.line, LineProblem.hint(for: value.text)) }
        let error = ImportError(
            line: value.line,
            column: value.column + (item.map { $0.startIndex - value.text.startIndex } ?? 0),
            key: value.key.rawValue,
            reason: problem.reason,
            hint: valueHint.hint ?? problem.hint
        )
        errors.add(error)
    }

    mutating func note(_ value: FileValue, _ kind: ImportReport.Kind, _ text: String) {
        report.add(kind, line: value.line, key: value.key.rawValue, text)
    }

    /// Reports the comments, which have no place in a configuration.
    mutating func noteComments() {
        guard comments.count > 0 else { return }
        report.add(.ignored, line: comments.line, "\(ShownText.count(comments.count, "comment")) not kept")
    }
}
