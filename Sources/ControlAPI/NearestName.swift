/// Finds the name that somebody probably meant.
package enum NearestName {
    private static let longest = 24

    /// The name that takes the fewest changes, without regard to ASCII case, or that contains the text.
    ///
    /// - Returns: nil where none is near: more than one change in three letters, and more than two in all.
    package static func find(_ text: [UInt8], among names: [String]) -> String? {
        guard (2...longest).contains(text.count) else { return nil }
        let typed = text.map(lowercased)
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = distance(typed, name.utf8.map(lowercased))
            if distance < best?.distance ?? .max { best = (name, distance) }
        }
        if let best, best.distance <= min(2, typed.count / 3) { return best.name }
        guard typed.count >= 4 else { return nil }
        return names.first { $0.lowercased().contains(String(decoding: typed, as: UTF8.self)) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// The number of insertions, deletions, replacements and swaps of neighbours between two words.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var rows = [[Int]](repeating: [Int](repeating: 0, count: b.count + 1), count: a.count + 1)
        for i in 0...a.count { rows[i][0] = i }
        for j in 0...b.count { rows[0][j] = j }
        for i in 0..<a.count {
            for j in 0..<b.count {
                var least = min(rows[i][j + 1] + 1, rows[i + 1][j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, rows[i - 1][j - 1] + 1) }
                rows[i + 1][j + 1] = least
            }
        }
        return rows[a.count][b.count]
    }
}
