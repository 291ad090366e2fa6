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
        } else if let first = text.first, first.isASCIIDigit || first == UInt8(ascii: "-") {
            guard let number = NumberText.parse32(text), number > 0 else {
                throw ValueProblem("\(ShownText.of(text)) isn't a table number from 1 to 4294967295", hint: rule)
            }
            if let problem = Self.problem(ofNumber: number) { throw problem }
            self = .number(number)
        } else {
            guard !text.isEmpty, text.count <= Self.longestName, text.allSatisfy(Self.isOfName),
                KeyLikeText.ranges(in: text).isEmpty
            else {
                throw ValueProblem("\(ShownText.of(text)) is no name of a table", hint: rule)
            }
            if text.text == "local" { throw Self.localTable }
            self = .name(text.text)
        }
    }

    /// The kernel's table of the machine's own addresses (`RT_TABLE_LOCAL` of linux/rtnetlink.h).
    private static let local: UInt32 = 255
    private static let localTable = ValueProblem(
        "is the kernel's table of this machine's own addresses, which routes of a tunnel would take away",
        hint: "Leave the line out, or write another table's number or name."
    )

    /// Why routes can't go into a table; nil where they can.
    static func problem(ofNumber number: UInt32) -> ValueProblem? { number == local ? localTable : nil }

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
