import NetworkTypes

/// Finds what looks like a key where none belongs: pasted into another line by mistake, or written into a hook.
enum KeyLikeText {
    /// The parts of a text that look like a key: 43 characters of base64 and a "=", as many without it if they are mixed as
    /// chance mixes them, or 64 hexadecimal digits.
    static func ranges(in text: ArraySlice<UInt8>) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var start = text.startIndex
        while start < text.endIndex {
            guard isOfKey(text[start]) else {
                start += 1
                continue
            }
            let run = text[start...].prefix(while: isOfKey)
            let isPadded = run.endIndex < text.endIndex && text[run.endIndex] == UInt8(ascii: "=")
            if isKey(run, isPadded: isPadded) { found.append(run.startIndex..<run.endIndex + (isPadded ? 1 : 0)) }
            start = run.endIndex
        }
        return found
    }

    private static func isKey(_ run: ArraySlice<UInt8>, isPadded: Bool) -> Bool {
        let bare = KeyText.characterCount - 1
        if isPadded, run.count >= bare { return true }
        if run.count == 2 * KeyText.byteCount { return run.allSatisfy(\.isHexadecimalDigit) }
        guard run.count == bare || run.count == bare + 1 else { return false }
        let capitals = run.count { $0.isASCIILetter && $0 != $0.asciiLowercased }
        let digits = run.count(where: \.isASCIIDigit)
        return capitals >= 3 && digits >= 1 && run.count - capitals - digits >= 3
    }

    private static func isOfKey(_ byte: UInt8) -> Bool {
        KeyText.isOfAlphabet(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

extension WireGuardConfiguration {
    /// The hooks that hold what looks like a key: a file without secrets leaves them out.
    package var hooksWithKeys: [Hook] { hooks.filter { $0.holdsKey(in: self) } }
}

extension Hook {
    /// What is shown in the place of what looks like a key.
    package static let hiddenKey = "(a key, hidden)"

    /// The command with what looks like a key hidden, but for the public keys that the configuration shows anyway.
    package func shownCommand(in configuration: WireGuardConfiguration) -> String {
        Hook.shown(command, publicKeys: Set(configuration.peers.map(\.publicKey.description)))
    }

    /// The text of a hook, or of a part of one, with what looks like a key hidden in the same way.
    ///
    /// - Parameter publicKeys: keys that aren't secret, in base64.
    package static func shown(_ command: String, publicKeys: Set<String>) -> String {
        let text = Array(command.utf8)
        var shown: [UInt8] = []
        var end = 0
        for range in KeyLikeText.ranges(in: text[...]) where !publicKeys.contains(text[range].text) {
            shown += text[end..<range.lowerBound] + Array(Hook.hiddenKey.utf8)
            end = range.upperBound
        }
        return String(decoding: shown + text[end...], as: UTF8.self)
    }

    func holdsKey(in configuration: WireGuardConfiguration) -> Bool { shownCommand(in: configuration) != command }
}
