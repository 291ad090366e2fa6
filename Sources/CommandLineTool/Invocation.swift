/// A command line that was understood.
package struct Invocation: Equatable, Sendable {
    package struct GivenOption: Equatable, Sendable {
        package let option: Option
        package let value: String?
    }

    package let command: Command
    package let operands: [String]
    /// In the order in which they were typed.
    package let options: [GivenOption]

    package func has(_ option: Option) -> Bool { options.contains { $0.option == option } }

    package func value(_ option: Option) -> String? { options.last { $0.option == option }?.value }

    package func values(_ option: Option) -> [String] { options.filter { $0.option == option }.compactMap(\.value) }

    /// The operand at a place that the table says is always filled.
    func operand(_ index: Int) -> String { operands.indices.contains(index) ? operands[index] : "" }

    /// A number of seconds, with or without a fraction, above zero and at most a year.
    func seconds(_ option: Option, default preset: Double) throws(UsageError) -> Double {
        guard let text = value(option) else { return preset }
        guard let seconds = Double(text), seconds > 0, seconds <= 31_536_000 else {
            throw UsageError("\(option.rawValue) takes a number of seconds above 0, such as 30.")
        }
        return seconds
    }
}
