/// Finds what was probably meant by a misspelt word.
package enum NearestMatch {
    /// Words beyond this aren't compared: the work grows with the product of the lengths.
    private static let longestWord = 64

    /// The closest of `words`, or the one that `word` is the beginning of; nil where none is close.
    ///
    /// Close is: at most one edit for every three letters, and at least one.
    package static func find(_ word: String, among words: some Sequence<String>) -> String? {
        let typed = Array(word.lowercased().unicodeScalars)
        guard (1...longestWord).contains(typed.count) else { return nil }
        var best: (word: String, distance: Int)?
        for candidate in words {
            let other = Array(candidate.lowercased().unicodeScalars)
            guard other.count <= longestWord else { continue }
            let begins = typed.count >= 2 && other.starts(with: typed)
            let distance = begins ? 0 : distance(typed, other)
            guard distance <= max(1, typed.count / 3), distance < (best?.distance ?? .max) else { continue }
            best = (candidate, distance)
        }
        return best?.word
    }

    /// "Did you mean status?"; nil where nothing is close.
    static func hint(for word: String, among words: some Sequence<String>) -> String? {
        find(word, among: words).map { "Did you mean \($0)?" }
    }

    /// How many letters to insert, remove, change or swap with their neighbour (optimal string alignment).
    private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        var before: [Int] = []
        var above = Array(0...b.count)
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var cost = min(above[j + 1] + 1, row[j] + 1, above[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
                row.append(cost)
            }
            (before, above) = (above, row)
        }
        return above[b.count]
    }
}
