/// Reads the members of a `.varlink` file one after the other.
///
/// Source: the grammar at https://varlink.org/Interface-Definition.
struct InterfaceParser {
    enum Member {
        case type(String, InterfaceDescription.TypeShape)
        case method(String, InterfaceDescription.Method)
        case error(String, [InterfaceDescription.Field])

        var name: String {
            switch self {
            case .type(let name, _), .method(let name, _), .error(let name, _): name
            }
        }
    }

    private enum Token: Equatable {
        case word(String)
        /// One of `: , ( ) ? -> [] [string]`.
        case mark(String)
        case end
    }

    /// Types nested deeper than this are refused, so that the parser's stack is bounded.
    private static let depthLimit = 32
    private static let marks = ["->", "[string]", "[]", ":", ",", "(", ")", "?"]

    private var rest: Substring.UTF8View
    private var line = 1

    init(_ text: String) { rest = text[...].utf8 }

    func error(_ message: String) -> InterfaceSyntaxError { InterfaceSyntaxError(line: line, message: message) }

    /// `interface org.example.name`.
    mutating func interfaceHeader() throws(InterfaceSyntaxError) -> String {
        guard try next() == .word("interface") else { throw error("the file should begin with \"interface\"") }
        let name = try word("the name of the interface")
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count >= 2, parts.allSatisfy(isNamePart), name.first?.isLetter == true else {
            throw error("\"\(name)\" is no name of an interface, such as \"org.example.name\"")
        }
        return name
    }

    /// Nil at the end of the file.
    mutating func nextMember() throws(InterfaceSyntaxError) -> Member? {
        switch try next() {
        case .end: return nil
        case .word("type"): return .type(try memberName(), try group(depth: 0))
        case .word("error"): return .error(try memberName(), try fields(depth: 0))
        case .word("method"):
            let name = try memberName()
            let input = try fields(depth: 0)
            guard try next() == .mark("->") else {
                throw error("after the parameters of \"\(name)\" \"->\" is missing")
            }
            return .method(name, .init(input: input, output: try fields(depth: 0)))
        case let token: throw error("\(text(token)) stands where \"type\", \"method\" or \"error\" should")
        }
    }

    private mutating func fields(depth: Int) throws(InterfaceSyntaxError) -> [InterfaceDescription.Field] {
        switch try group(depth: depth) {
        case .structure(let fields): return fields
        default: throw error("parameters should have types")
        }
    }

    /// A structure, `(name: type, …)`, or an enumeration, `(one, two)`.
    private mutating func group(depth: Int) throws(InterfaceSyntaxError) -> InterfaceDescription.TypeShape {
        guard depth < Self.depthLimit else { throw error("types are nested too deeply") }
        guard try next() == .mark("(") else { throw error("\"(\" is missing") }
        if try takeIf(.mark(")")) { return .structure([]) }
        var fields: [InterfaceDescription.Field] = []
        var cases: [String] = []
        repeat {
            let name = try fieldName()
            guard !cases.contains(name), !fields.contains(where: { $0.name == name }) else {
                throw error("\"\(name)\" stands there twice")
            }
            if try takeIf(.mark(":")) {
                fields.append(.init(name: name, type: try type(depth: depth + 1)))
            } else {
                cases.append(name)
            }
        } while try takeIf(.mark(","))
        guard try next() == .mark(")") else { throw error("\")\" is missing") }
        guard fields.isEmpty || cases.isEmpty else { throw error("\"\(cases[0])\" has no type") }
        return cases.isEmpty ? .structure(fields) : .enumeration(cases)
    }

    private mutating func type(depth: Int) throws(InterfaceSyntaxError) -> InterfaceDescription.TypeShape {
        guard depth < Self.depthLimit else { throw error("types are nested too deeply") }
        let before = self
        switch try next() {
        case .mark("?"):
            let wrapped = try type(depth: depth + 1)
            if case .optional = wrapped { throw error("\"??\"") }
            return .optional(wrapped)
        case .mark("[]"): return .array(try type(depth: depth + 1))
        case .mark("[string]"): return .dictionary(try type(depth: depth + 1))
        case .mark("("):
            self = before
            return try group(depth: depth)
        case .word("bool"): return .bool
        case .word("int"): return .int
        case .word("float"): return .float
        case .word("string"): return .string
        case .word("object"): return .object
        case .word(let name) where name.first?.isUppercase == true: return .named(name)
        case let token: throw error("\(text(token)) is no type")
        }
    }

    private mutating func memberName() throws(InterfaceSyntaxError) -> String {
        let name = try word("a name")
        guard name.first?.isUppercase == true, name.allSatisfy({ $0.isLetter || $0.isNumber }) else {
            throw error("\"\(name)\" should begin with a capital and have only letters and digits")
        }
        return name
    }

    private mutating func fieldName() throws(InterfaceSyntaxError) -> String {
        let name = try word("a name")
        guard name.first?.isLetter == true, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }),
            name.last != "_", !name.contains("__")
        else { throw error("\"\(name)\" is no name of a field: letters, digits, single underscores between") }
        return name
    }

    private mutating func word(_ what: String) throws(InterfaceSyntaxError) -> String {
        let token = try next()
        guard case .word(let word) = token else { throw error("\(text(token)) stands where \(what) should") }
        return word
    }

    private mutating func takeIf(_ token: Token) throws(InterfaceSyntaxError) -> Bool {
        let before = self
        if try next() == token { return true }
        self = before
        return false
    }

    private mutating func next() throws(InterfaceSyntaxError) -> Token {
        skipSpaceAndComments()
        guard !rest.isEmpty else { return .end }
        for mark in Self.marks where rest.starts(with: mark.utf8) {
            rest = rest.dropFirst(mark.utf8.count)
            return .mark(mark)
        }
        let word = rest.prefix(while: isWordByte)
        guard !word.isEmpty else { throw error("a character that has no place here") }
        rest = rest[word.endIndex...]
        return .word(String(decoding: word, as: UTF8.self))
    }

    private mutating func skipSpaceAndComments() {
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "#"): rest = rest.drop(while: { $0 != UInt8(ascii: "\n") })
            case UInt8(ascii: "\n"):
                line += 1
                rest = rest.dropFirst()
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): rest = rest.dropFirst()
            default: return
            }
        }
    }

    private func text(_ token: Token) -> String {
        switch token {
        case .word(let word), .mark(let word): "\"\(word)\""
        case .end: "the end of the file"
        }
    }
}

private func isWordByte(_ byte: UInt8) -> Bool {
    let lower = byte | 0x20
    return UInt8(ascii: "a")...UInt8(ascii: "z") ~= lower || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
        || byte == UInt8(ascii: "-")
}

private func isNamePart(_ part: Substring) -> Bool {
    !part.isEmpty && part.first != "-" && part.last != "-"
        && part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" }
}
