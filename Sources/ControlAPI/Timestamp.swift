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
    /// In whole numbers: a date in seconds of floating point loses a millisecond here and there.
    package var description: String {
        let (days, rest) = Self.floored(milliseconds, 86_400_000)
        let (year, month, day) = Self.civil(days)
        func padded(_ value: Int64, _ width: Int) -> String {
            let digits = "\(value)"
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))T\(padded(rest / 3_600_000, 2)):"
            + "\(padded(rest / 60_000 % 60, 2)):\(padded(rest / 1000 % 60, 2)).\(padded(rest % 1000, 3))Z"
    }

    /// The date of a day counted from 1970-01-01, in the Gregorian calendar.
    ///
    /// Years are counted from March, so that the leap day is the last of one: the day of a month then is a line with a
    /// slope of 153 days in 5 months.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // 719,468 days from 0000-03-01 to 1970-01-01; an era is the calendar's period of 400 years.
        let (era, dayOfEra) = floored(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func floored(_ value: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let remainder = (value % divisor + divisor) % divisor
        return ((value - remainder) / divisor, remainder)
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
