/// A message of a client's to a provider, and the answer: `SendMessage` of `org.tunneld.Sessions`, and `HandleMessage` of
/// `org.tunneld.Provider`.
package enum MessageCalls {
    /// Bytes of a message, and of an answer.
    package static let limit = 1 << 20
    /// Seconds to wait for the answer, where the client names none, and at most.
    package static let standardTimeout = 10.0
    package static let longestTimeout = 300.0

    package struct SendParameters: Codable, Sendable {
        package var identifier: String
        /// Meant for this session only; left out: for the present one.
        package var session: String?
        /// Null: an empty one.
        package var message: DataValue?
        /// In seconds.
        package var timeout: Double?

        package init(identifier: String, session: String? = nil, message: DataValue?, timeout: Double? = nil) {
            self.identifier = identifier
            self.session = session
            self.message = message
            self.timeout = timeout
        }
    }

    package struct HandleParameters: Codable, Sendable {
        package var message: DataValue?
        package init(message: DataValue?) { self.message = message }
    }

    /// The provider's answer, to either call; null where it has nothing to say.
    package struct Reply: Codable, Equatable, Sendable {
        package var reply: DataValue?
        package init(reply: DataValue?) { self.reply = reply }
    }
}

extension ControlError {
    /// What a provider answers to every message, where it takes none.
    package static let messagesUnsupported = ControlError(
        .messagesUnsupported,
        "The tunnel's provider takes no messages.",
        remedy: "See its documentation for what it can be asked otherwise."
    )
}
