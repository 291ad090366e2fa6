/// Where a tunnel's routes go: the value of `Table` (wg-quick(8)).
package enum RoutingTable: Hashable, Sendable {
    /// No routes are made.
    case off
    /// The main table, and a table of its own for a default route: what happens without the key, too.
    case auto
    /// 1 and up.
    case number(UInt32)
    /// A name of the system's table files (`/etc/iproute2/rt_tables`), looked up by whoever makes the routes.
    case name(String)

    static let longestName = 64

    init(text: ArraySlice<UInt8>) throws(ValueProblem) {
        let rule = "Write off, auto, a table's number or its name."
        if text.equalsIgnoringCase("off") {
            self = .off
        } else if text.equalsIgnoringCase("auto") {
            self = .auto
        } else if let first = text.first, first.isASCIIDigit {
            guard let number = NumberText.parse32(text), number > 0 else {
                throw ValueProblem("\(ShownText.of(text)) isn't a table number from 1 to 4294967295", hint: rule)
            }
            self = .number(number)
        } else {
            guard !text.isEmpty, text.count <= Self.longestName, text.allSatisfy(Self.isOfName) else {
                throw ValueProblem("\(ShownText.of(text)) is no name of a table", hint: rule)
            }
            self = .name(text.text)
        }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || byte.isASCIILetter || "_-.+".utf8.contains(byte)
    }
}

extension RoutingTable: CustomStringConvertible {
    /// As it stands in a file.
    package var description: String {
        switch self {
        case .off: "off"
        case .auto: "auto"
        case .number(let number): "\(number)"
        case .name(let name): name
        }
    }
}
