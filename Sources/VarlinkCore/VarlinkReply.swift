package import FoundationEssentials

/// A reply: the message that a service sends.
package struct VarlinkReply: Equatable, Sendable {
    package enum Body: Equatable, Sendable {
        /// The JSON text of an object; more replies follow if `continues`.
        case parameters(Data, continues: Bool)
        /// Always the last one.
        case error(VarlinkError)
    }

    package let body: Body

    package init(_ body: Body) { self.body = body }

    /// The only or the last reply, by a value whose JSON is an object.
    package init(_ parameters: some Encodable, continues: Bool = false) throws {
        body = .parameters(try VarlinkJSON.encode(parameters), continues: continues)
    }

    /// Reads a message without its NUL.
    package init(parsing message: [UInt8]) throws(MessageError) {
        let envelope = try MessageEnvelope(message, names: ["parameters", "continues", "error"])
        let parameters = try envelope.object("parameters")
        if let name = try envelope.string("error") {
            body = .error(VarlinkError(name, encoded: parameters))
        } else {
            body = .parameters(parameters, continues: try envelope.flag("continues"))
        }
    }

    package var continues: Bool {
        if case .parameters(_, continues: true) = body { return true }
        return false
    }

    /// The message without its NUL.
    package func encoded() -> [UInt8] {
        var out: [UInt8]
        switch body {
        case .parameters(let parameters, let continues):
            out = Array("{\"parameters\":".utf8) + parameters
            if continues { out += ",\"continues\":true".utf8 }
        case .error(let error):
            out = Array("{\"error\":".utf8) + VarlinkJSON.quoted(error.name)
            out += Array(",\"parameters\":".utf8) + error.parameters
        }
        out.append(UInt8(ascii: "}"))
        return out
    }
}
