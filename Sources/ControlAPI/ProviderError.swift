/// An error in a provider's own terms: its domain, code and words, as it gave them.
package struct ProviderError: Hashable, Codable, Sendable {
    /// So much of a text is kept; a provider isn't trusted to keep it short.
    package static let domainLimit = 256
    package static let messageLimit = 4096

    package let domain: String
    package let code: Int
    package let message: String

    package init(domain: String, code: Int, message: String) {
        self.domain = String(domain.prefix(Self.domainLimit))
        self.code = code
        self.message = String(message.prefix(Self.messageLimit))
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            domain: try container.decode(String.self, forKey: .domain),
            code: try container.decode(Int.self, forKey: .code),
            message: try container.decode(String.self, forKey: .message)
        )
    }

    private enum CodingKeys: String, CodingKey { case domain, code, message }
}
