/// Finds the name that somebody probably meant.
package enum NearestName {
    /// Texts beyond this aren't compared: the work grows with the product of the lengths.
    private static let longest = 64

    /// The closest name, without regard to case: one that the text begins, else the one with the fewest changes, else one
    /// that contains it.
    ///
    /// - Returns: nil where none is near: so much as more than two changes, so that what is near a known name may be shown
    ///   where a secret could stand in its place.
    package static func find(_ text: String, among names: some Sequence<String>) -> String? {
        let typed = Array(text.lowercased().unicodeScalars)
        guard (1...longest).contains(typed.count) else { return nil }
        var best: (name: String, distance: Int)?
        for name in names {
            let other = Array(name.lowercased().unicodeScalars)
            guard other.count <= longest else { continue }
            let begins = typed.count >= 2 && other.starts(with: typed)
            let distance = begins ? 0 : distance(typed, other)
            guard distance <= max(1, min(2, typed.count / 3)), distance < (best?.distance ?? .max) else { continue }
            best = (name, distance)
        }
        if let best { return best.name }
        guard typed.count >= 4 else { return nil }
        return names.first { $0.lowercased().contains(text.lowercased()) }
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
