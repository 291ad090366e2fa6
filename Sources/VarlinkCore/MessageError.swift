/// What is wrong with bytes that should have been a Varlink message.
package enum MessageError: Error, Equatable, Sendable {
    /// No NUL within the limit, in bytes; what follows in the stream has no meaning.
    case tooLong(limit: Int)
    /// The stream ended inside a message.
    case truncated
    case notUTF8(at: Int)
    /// Not JSON: the offset of the byte that doesn't fit and what should have stood there.
    case malformed(at: Int, expected: StaticString)
    case tooDeep(limit: Int, at: Int)
    case tooManyValues(limit: Int)
    case missing(member: StaticString)
    case wrongType(member: StaticString, expected: StaticString)
    case duplicate(member: StaticString)
    /// The method's name isn't `interface.Method`, or is longer than 255 bytes.
    case badMethodName
    /// Or the receiver has no room for them.
    case tooManyDescriptors(limit: Int)

    /// Whether the next message in the stream can still be found.
    package var isRecoverable: Bool {
        switch self {
        case .tooLong, .truncated, .tooManyDescriptors: false
        default: true
        }
    }

    package static func == (a: MessageError, b: MessageError) -> Bool { a.description == b.description }
}

extension MessageError: CustomStringConvertible {
    /// One sentence for whoever sent the message.
    package var description: String {
        switch self {
        case .tooLong(let limit): "The message is longer than \(limit) bytes, or its end (a NUL byte) is missing."
        case .truncated: "The stream ended inside a message: its end (a NUL byte) is missing."
        case .notUTF8(let offset): "The message isn't UTF-8 at byte \(offset)."
        case .malformed(let offset, let expected):
            "The message isn't JSON: at byte \(offset) there should be \(expected)."
        case .tooDeep(let limit, let offset): "At byte \(offset) the message is nested deeper than \(limit) levels."
        case .tooManyValues(let limit): "The message holds more than \(limit) values."
        case .missing(let member): "The message has no \"\(member)\"."
        case .wrongType(let member, let expected): "\"\(member)\" should be \(expected)."
        case .duplicate(let member): "\"\(member)\" stands in the message twice."
        case .badMethodName: "\"method\" should be an interface and a method, such as \"org.varlink.service.GetInfo\"."
        case .tooManyDescriptors(let limit):
            "More than \(limit) file descriptors came with the message, or there is no room for them."
        }
    }
}
