import ControlAPI

/// Sizes, ages and times for a person.
enum QuantityText {
    /// "999 B", "1.2 KiB", "34 MiB": two or three digits are enough to see what is going on.
    static func bytes(_ count: UInt64) -> String {
        guard count >= 1024 else { return "\(count) B" }
        let names = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        var unit: UInt64 = 1024
        var name = 0
        while count / unit >= 1024 {
            unit *= 1024
            name += 1
        }
        let tenths = (count / unit) * 10 + (count % unit) * 10 / unit
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) \(names[name])" : "\((tenths + 5) / 10) \(names[name])"
    }

    /// Digits in groups of three: "1,234,567".
    static func count(_ number: UInt64) -> String {
        var digits = Array(String(number))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: place)
            place -= 3
        }
        return String(digits)
    }

    /// "under 1 s", "12 s", "3 min 20 s", "2 h 5 min", "4 d 3 h"; a negative duration counts as none.
    static func duration(milliseconds: Int64) -> String {
        let seconds = max(milliseconds, 0) / 1000
        func pair(_ large: Int64, _ unit: String, _ small: Int64, _ lesser: String) -> String {
            small == 0 ? "\(large) \(unit)" : "\(large) \(unit) \(small) \(lesser)"
        }
        switch seconds {
        case 0: return "under 1 s"
        case ..<60: return "\(seconds) s"
        case ..<3600: return pair(seconds / 60, "min", seconds % 60, "s")
        case ..<86_400: return pair(seconds / 3600, "h", seconds % 3600 / 60, "min")
        default: return pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h")
        }
    }

    /// "12 s ago", or "never"; what lies after `now` (a clock was set back) is "just now".
    static func age(_ time: Timestamp?, at now: Timestamp) -> String {
        guard let time else { return "never" }
        let (age, overflow) = now.milliseconds.subtractingReportingOverflow(time.milliseconds)
        return overflow || age < 1000 ? "just now" : "\(duration(milliseconds: age)) ago"
    }

    /// "2026-01-31 23:59:59 UTC".
    static func time(_ time: Timestamp) -> String {
        "\(time.description.prefix(19)) UTC".replacing("T", with: " ", maxReplacements: 1)
    }
}
