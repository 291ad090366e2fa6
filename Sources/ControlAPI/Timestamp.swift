package import FoundationEssentials

/// A time of the wall clock, written as RFC 3339 in UTC with milliseconds: "2026-01-31T23:59:59.123Z".
package struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package init(_ date: Date) {
        milliseconds = Int64(max(-1e15, min(1e15, (date.timeIntervalSince1970 * 1000).rounded())))
    }

    package static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
}

extension Timestamp: CustomStringConvertible {
    package var description: String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(Self.format)
    }

    /// Reads what `description` writes; nil for anything else.
    package init?(_ text: String) {
        guard let date = try? Self.format.parse(text) else { return nil }
        self.init(date)
    }
}

extension Timestamp: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "It should hold a time such as 2026-01-31T23:59:59.123Z (RFC 3339, UTC)."
            )
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
