extension Array where Element: Hashable {
    /// Each element once, where it stands first.
    func withoutDoubles() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
