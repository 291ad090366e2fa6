/// The providers that a session has lost so far: each was ready, and another one takes its place.
package struct ProviderLossesView: Codable, Equatable, Sendable {
    package var count: Int
    /// When the last one was lost, and how, in sentences.
    package var time: Timestamp
    package var reason: String

    package init(count: Int, time: Timestamp, reason: String) {
        self.count = count
        self.time = time
        self.reason = reason
    }
}
