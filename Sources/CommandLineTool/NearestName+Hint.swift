import ControlAPI

extension NearestName {
    /// "Did you mean status?"; nil where nothing is close.
    static func hint(for word: String, among words: some Sequence<String>) -> String? {
        find(word, among: words).map { "Did you mean \($0)?" }
    }
}
