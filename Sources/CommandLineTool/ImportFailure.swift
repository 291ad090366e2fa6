import ControlAPI
import WireGuardConfig

/// Something that wasn't stored, with all that is wrong with it.
struct ImportFailure: Error, CustomStringConvertible {
    /// What failed: the first line of the text.
    let headline: String
    /// Each fault, as far as they are listed.
    let faults: [ControlError]
    /// So many more there are.
    let omitted: Int
    let code: ExitCode

    var description: String { ([headline] + faults.map(\.description)).joined(separator: " ") }

    var count: Int { faults.count + omitted }

    /// The faults for a program, the last one saying how many aren't listed.
    var listed: [ControlError] {
        omitted == 0 ? faults : faults + [ControlError(.configurationInvalid, "\(omitted) more errors.")]
    }

    init(headline: String, faults: [ControlError], omitted: Int = 0, code: ExitCode) {
        self.omitted = omitted
        self.headline = headline
        self.faults = faults
        self.code = code
    }

    init(_ file: String, _ errors: ImportErrors) {
        let count = errors.errors.count + errors.omitted
        let headline = "\(file) can't be imported: \(count) \(count == 1 ? "error" : "errors"); nothing was saved."
        let faults = errors.errors.map { error in
            let place = error.line > 0 ? "line \(error.line)" + (error.column.map { ", column \($0)" } ?? "") : nil
            let key = error.key.map { "\($0): " } ?? ""
            return ControlError(
                .configurationInvalid,
                "\(Self.place(place, in: file)): \(key)\(error.reason).",
                remedy: error.hint,
                field: place
            )
        }
        self.init(headline: headline, faults: faults, omitted: errors.omitted, code: .failed)
    }

    /// Warnings that count as errors.
    init(_ file: String, warnings: [ImportReport.Entry]) {
        let headline =
            "\(file) has \(warnings.count) \(warnings.count == 1 ? "warning" : "warnings") and --strict was given; "
            + "nothing was saved."
        let faults = warnings.map { warning in
            let place = warning.line > 0 ? "line \(warning.line)" : nil
            let key = warning.key.map { "\($0): " } ?? ""
            return ControlError(
                .configurationInvalid,
                "\(Self.place(place, in: file)): \(key)\(warning.text).",
                field: place
            )
        }
        self.init(headline: headline, faults: faults, code: .failed)
    }

    private static func place(_ place: String?, in file: String) -> String {
        place.map { "\(file), \($0)" } ?? file
    }
}
