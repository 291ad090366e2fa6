/// Finds a member that stands twice in one object of a JSON text, of which a decoder would take one in silence.
package enum DuplicateMember {
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    /// The name of the first one, as a message may show it; nil where there is none.
    ///
    /// - Parameter json: what a decoder has found to be JSON.
    package static func find(in json: [UInt8]) -> String? {
        // The names in every object that is open, each as a number, for thousands of files are read at a start; nil stands
        // for an array.
        var open: [Set<UInt64>?] = []
        var isName = false
        var index = 0
        while index < json.count {
            switch json[index] {
            case UInt8(ascii: "{"):
                open.append([])
                isName = true
            case UInt8(ascii: "["):
                open.append(nil)
                isName = false
            case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
            case UInt8(ascii: ","): isName = open.last.map { $0 != nil } ?? false
            case UInt8(ascii: ":"): isName = false
            case quote:
                let start = index + 1
                let number = number(of: json, from: start, to: &index)
                if isName, open[open.count - 1]?.insert(number).inserted == false {
                    return ControlError.named(String(decoding: json[start..<index], as: UTF8.self))
                }
            default: break
            }
            index += 1
        }
        return nil
    }

    /// A number that stands for a text as it is written (FNV-1a of 64 bits).
    ///
    /// - Parameter end: becomes the place of the quotation mark behind it.
    private static func number(of json: [UInt8], from start: Int, to end: inout Int) -> UInt64 {
        var number: UInt64 = 0xcbf2_9ce4_8422_2325
        end = start
        while end < json.count, json[end] != quote {
            if json[end] == backslash {
                number = (number ^ UInt64(backslash)) &* 0x100_0000_01b3
                end += 1
                guard end < json.count else { break }
            }
            number = (number ^ UInt64(json[end])) &* 0x100_0000_01b3
            end += 1
        }
        return number
    }
}
