import ControlAPI

/// One `KEY=VALUE` of `set`: "provider.configuration.peers[0].endpoint=vpn.example.org:51820".
struct Setting: Equatable {
    enum Step: Equatable {
        case member(String)
        case index(Int)
    }

    /// As it was typed.
    let key: String
    let steps: [Step]
    let text: String

    /// - Throws: where it isn't a key, an equals sign and a value.
    init(_ typed: String) throws(UsageError) {
        guard let equals = typed.firstIndex(of: "="), equals != typed.startIndex else {
            throw UsageError(
                "\"\(typed.prefix { $0 != "=" }.prefix(64))\" is no setting.",
                hint: "Write KEY=VALUE, such as startAtBoot=true; `tunnelctl help set` has the keys."
            )
        }
        key = String(typed[..<equals])
        text = String(typed[typed.index(after: equals)...])
        steps = try Self.steps(of: key)
    }

    /// Puts the value into a configuration's document.
    ///
    /// - Throws: for a key that there is not, with the nearest; for a value of another shape; for an index beyond the end.
    func apply(to document: inout JSONValue) throws(UsageError) {
        let root = ConfigurationShape.root(provider: document["provider"]?["identifier"]?.string)
        let value = try shape(in: root).value(of: text, for: key)
        document = try Self.setting(value, at: steps[...], in: document, key)
    }

    /// What a document holds at the key; nil where it holds nothing.
    func present(in document: JSONValue) -> JSONValue? {
        steps.reduce(document) { (value: JSONValue?, step) in
            switch step {
            case .member(let name): value?[name]
            case .index(let index): value?.array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
            }
        }
    }

    // MARK: The key

    /// "a.b[0].c" and "a.b.0.c" mean the same.
    private static func steps(of key: String) throws(UsageError) -> [Step] {
        var steps: [Step] = []
        for part in key.split(separator: ".", omittingEmptySubsequences: false) {
            let pieces = part.split(separator: "[", omittingEmptySubsequences: false)
            guard let name = pieces.first, !name.isEmpty else { throw malformed(key) }
            steps.append(Int(name).map { .index($0) } ?? .member(String(name)))
            for piece in pieces.dropFirst() {
                guard piece.last == "]", let index = Int(piece.dropLast()) else { throw malformed(key) }
                steps.append(.index(index))
            }
        }
        let isNegative = steps.contains { if case .index(let index) = $0 { index < 0 } else { false } }
        guard !isNegative else { throw malformed(key) }
        return steps
    }

    private static func malformed(_ key: String) -> UsageError {
        UsageError(
            "\"\(key)\" is no key.",
            hint: "Keys have names with dots between them, such as provider.configuration.peers[0].endpoint."
        )
    }

    private func shape(in root: ValueShape) throws(UsageError) -> ValueShape {
        var shape = root
        var path = ""
        for step in steps {
            switch (shape, step) {
            case (.any, _): return .any
            case (.object(let members), .member(let name)):
                guard let member = members[name] else { throw unknown(name, below: path, members, root) }
                shape = member
                path += path.isEmpty ? name : ".\(name)"
            case (.array(let element), .index(let index)):
                shape = element
                path += "[\(index)]"
            case (.array, .member):
                throw UsageError("\(path) is a list.", hint: "Name one of it by its place, such as \(path)[0].")
            default: throw UsageError("There is nothing below \(path).", hint: "\(path) takes \(shape.wanted).")
            }
        }
        if case .given = shape { throw UsageError("\(path) can't be set: tunneld gives it.") }
        return shape
    }

    private func unknown(
        _ name: String,
        below path: String,
        _ members: [String: ValueShape],
        _ root: ValueShape
    ) -> UsageError {
        let prefix = path.isEmpty ? "" : path + "."
        let near =
            NearestName.find(name, among: members.keys.sorted()).map { prefix + $0 }
            ?? NearestName.find(key, among: Self.leaves(root).map(\.path))
            ?? Self.leaves(root).first { $0.name == NearestName.find(name, among: Self.leaves(root).map(\.name)) }?
            .path
        return UsageError(
            "There is no key \"\(prefix)\(name)\".",
            hint: near.map { "Did you mean \($0)?" } ?? "Known are: \(members.keys.sorted().joined(separator: ", "))."
        )
    }

    /// Every key that can be typed, without those inside of lists.
    private static func leaves(_ shape: ValueShape, _ path: String = "") -> [(name: String, path: String)] {
        guard case .object(let members) = shape else { return [] }
        return members.sorted { $0.key < $1.key }.flatMap { name, member in
            let full = path.isEmpty ? name : "\(path).\(name)"
            return [(name, full)] + leaves(member, full)
        }
    }

    // MARK: The value

    private static func setting(
        _ value: JSONValue?,
        at steps: ArraySlice<Step>,
        in document: JSONValue?,
        _ key: String
    ) throws(UsageError) -> JSONValue {
        switch steps.first {
        case nil: return value ?? .null
        case .member(let name):
            var members = document?.object ?? [:]
            if steps.count == 1 {
                members[name] = value
            } else {
                members[name] = try setting(value, at: steps.dropFirst(), in: members[name], key)
            }
            return .object(members)
        case .index(let index):
            var elements = document?.array ?? []
            guard index <= elements.count else {
                throw UsageError(
                    "\(key) is beyond the end.",
                    hint: "There are \(elements.count); the next one that can be added has the index \(elements.count)."
                )
            }
            if index == elements.count { elements.append(.null) }
            if steps.count == 1, value == nil {
                elements.remove(at: index)
            } else {
                elements[index] = try setting(value, at: steps.dropFirst(), in: elements[index], key)
            }
            return .array(elements)
        }
    }
}
