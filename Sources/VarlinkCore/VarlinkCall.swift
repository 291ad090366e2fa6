package import FoundationEssentials

/// A call: the message that a client sends.
package struct VarlinkCall: Equatable, Sendable {
    /// How many replies the caller takes.
    package enum ReplyMode: Equatable, Sendable {
        case one
        /// As many as the service likes; the last one says that it is.
        case more
        /// None, not even an error.
        case none
    }

    /// Interface and method: "org.tunneld.Sessions.Start".
    package let method: String
    /// The JSON text of an object.
    package let parameters: Data
    package let replyMode: ReplyMode
    /// The caller wants the connection for another protocol after the reply.
    package let upgrade: Bool

    package init(
        method: String,
        parameters: Data = VarlinkJSON.emptyObject,
        replyMode: ReplyMode = .one,
        upgrade: Bool = false
    ) {
        self.method = method
        self.parameters = parameters
        self.replyMode = replyMode
        self.upgrade = upgrade
    }

    /// Reads a message without its NUL.
    ///
    /// - Throws: any `MessageError` that isn't about the stream. A call that asks for no reply and for many is refused.
    package init(parsing message: [UInt8]) throws(MessageError) {
        let envelope = try MessageEnvelope(message, names: ["method", "parameters", "oneway", "more", "upgrade"])
        guard let method = try envelope.string("method") else { throw .missing(member: "method") }
        guard isMethodName(method) else { throw .badMethodName }
        self.method = method
        parameters = try envelope.object("parameters")
        upgrade = try envelope.flag("upgrade")
        switch (try envelope.flag("oneway"), try envelope.flag("more")) {
        case (false, false): replyMode = .one
        case (false, true): replyMode = .more
        case (true, false): replyMode = .none
        case (true, true): throw .wrongType(member: "oneway", expected: "false where \"more\" is true")
        }
    }

    /// "org.tunneld.Sessions".
    package var interface: Substring { method.prefix(upTo: method.lastIndex(of: ".") ?? method.startIndex) }

    /// The names of the parameters, as they stand there.
    func parameterNames() throws(MessageError) -> [String] {
        guard parameters != VarlinkJSON.emptyObject else { return [] }
        var scanner = try JSONScanner(Array(parameters))
        return try scanner.members().map { scanner.text($0.key) ?? "" }
    }

    /// The message without its NUL.
    package func encoded() -> [UInt8] {
        var out = Array("{\"method\":".utf8) + VarlinkJSON.quoted(method)
        out += Array(",\"parameters\":".utf8) + parameters
        switch replyMode {
        case .one: break
        case .more: out += ",\"more\":true".utf8
        case .none: out += ",\"oneway\":true".utf8
        }
        if upgrade { out += ",\"upgrade\":true".utf8 }
        out.append(UInt8(ascii: "}"))
        return out
    }
}

/// Letters, digits, `-` and dots, the last part a method's name that begins with a capital.
private func isMethodName(_ name: String) -> Bool {
    guard name.utf8.count <= 255, let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.utf8.startIndex
    else {
        return false
    }
    let method = name.utf8[name.utf8.index(after: dot)...]
    guard let first = method.first, UInt8(ascii: "A")...UInt8(ascii: "Z") ~= first else { return false }
    return name.utf8.allSatisfy { byte in
        let lower = byte | 0x20
        return UInt8(ascii: "a")...UInt8(ascii: "z") ~= lower || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }
}
