/// A Varlink interface, as its `.varlink` file describes it.
package struct InterfaceDescription: Equatable, Sendable {
    package indirect enum TypeShape: Equatable, Sendable {
        case bool, int, float, string, object
        case named(String)
        case structure([Field])
        case enumeration([String])
        case array(TypeShape)
        /// Keys are strings.
        case dictionary(TypeShape)
        case optional(TypeShape)
    }

    package struct Field: Equatable, Sendable {
        package let name: String
        package let type: TypeShape
    }

    package struct Method: Equatable, Sendable {
        package let input: [Field]
        package let output: [Field]
    }

    /// "org.tunneld.Sessions".
    package let name: String
    /// The file, as it is served.
    package let text: String
    package private(set) var types: [String: TypeShape] = [:]
    package private(set) var methods: [String: Method] = [:]
    package private(set) var errors: [String: [Field]] = [:]

    /// Reads a file and checks that every type it uses is declared in it, and nothing twice.
    ///
    /// Source: https://varlink.org/Interface-Definition.
    package init(parsing text: String) throws(InterfaceSyntaxError) {
        self.text = text
        var parser = InterfaceParser(text)
        name = try parser.interfaceHeader()
        while let member = try parser.nextMember() {
            let isNew =
                switch member {
                case .type(let name, let shape): types.updateValue(shape, forKey: name) == nil
                case .method(let name, let method): methods.updateValue(method, forKey: name) == nil
                case .error(let name, let fields): errors.updateValue(fields, forKey: name) == nil
                }
            if !isNew { throw parser.error("\"\(member.name)\" is declared twice") }
        }
        for shape in types.values { try check(shape, parser) }
        for method in methods.values { try check(.structure(method.input + method.output), parser) }
        for fields in errors.values { try check(.structure(fields), parser) }
    }

    private func check(_ shape: TypeShape, _ parser: InterfaceParser) throws(InterfaceSyntaxError) {
        switch shape {
        case .bool, .int, .float, .string, .object, .enumeration: break
        case .named(let name):
            if types[name] == nil { throw parser.error("the type \"\(name)\" is not declared") }
        case .structure(let fields): for field in fields { try check(field.type, parser) }
        case .array(let element), .dictionary(let element), .optional(let element): try check(element, parser)
        }
    }
}

/// What is wrong with an interface file, and in which line.
package struct InterfaceSyntaxError: Error, Equatable, Sendable, CustomStringConvertible {
    package let line: Int
    package let message: String

    package var description: String { "line \(line): \(message)" }
}
