import ControlAPI
import FoundationEssentials
package import ProviderRuntime

/// What clients may ask by a message (`tunnelctl message`): one of a few words.
extension WireGuardTunnel {
    private enum Question: String, CaseIterable {
        case help, state, retry

        var summary: String {
            switch self {
            case .help: "these lines"
            case .state: "what the tunnel knows now, as JSON: peers, handshakes, attempts; no secrets"
            case .retry: "look names up and call the peers at once, as when the network changes"
            }
        }
    }

    package func handle(_ message: [UInt8], answer: @escaping MessageAnswer) {
        // As a shell or an editor ends it.
        let word = String(decoding: message.prefix(64), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard message.count <= 64, word.count == 1, let question = Question(rawValue: String(word[0])) else {
            return answer(.failure(Self.unknown))
        }
        switch question {
        case .help: answer(.success(Array(Self.help.utf8)))
        case .state: answer(Result { try Self.encoded(state()) }.mapError { Self.failure($0) })
        case .retry:
            do throws(ControlError) {
                _ = try running()
                pathChanged(ProviderCalls.PathChangedParameters())
                answer(.success(Array("The peers are called.\n".utf8)))
            } catch {
                answer(.failure(error))
            }
        }
    }

    private static var help: String {
        Question.allCases.map { "\($0.rawValue): \($0.summary)\n" }.joined()
    }

    private static func encoded(_ state: ProviderState) throws -> [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(state)) + [UInt8(ascii: "\n")]
    }

    private static var unknown: ControlError {
        let words = Question.allCases.map(\.rawValue).joined(separator: ", ")
        return ControlError(
            .invalidParameter,
            "The WireGuard provider doesn't know this message.",
            reason: "It is one word of: \(words).",
            remedy: "`tunnelctl message NAME help` says what each does.",
            field: "message"
        )
    }

    private static func failure(_ error: any Error) -> ControlError {
        ControlError(.internalError, "The state can't be written as JSON.", reason: "\(error)")
    }
}
