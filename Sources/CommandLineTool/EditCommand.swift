import ControlAPI
import ControlClient
import Glibc

/// `edit NAME [--conf]`: changes a configuration in an editor; nothing that was typed is lost.
struct EditCommand {
    private let context: CommandContext
    private let form: any EditForm

    init(_ context: CommandContext) {
        self.context = context
        form = context.invocation.has(.conf) ? ConfEditForm() : JSONEditForm()
    }

    func run() async throws -> ExitCode {
        let editor = try Editor(environment: context.environment)
        let base = try await context.findConfiguration()
        let text = try form.text(of: base)
        let fileName = base.name.replacing("/", with: "_") + form.suffix
        let file = try EditFile(fileName: fileName, environment: context.environment)
        do {
            let document = try await edit(file, with: editor, base, text)
            file.remove()
            if context.console.json {
                try context.console.print(json: document)
            } else {
                try context.console.print(document.lines)
            }
            return .done
        } catch {
            // Only what is the same as before isn't worth keeping.
            guard let left = try? file.read(), EditFile.typed(left) != text else {
                file.remove()
                throw error
            }
            throw Self.kept(error, file.path)
        }
    }

    /// Edits and saves, until it is saved, unchanged or given up.
    private func edit(
        _ file: EditFile,
        with editor: Editor,
        _ base: Configuration,
        _ first: String
    ) async throws -> EditDocument {
        var base = base
        var shown = first
        var lastError: (any Error)?
        var failures = 0
        try file.write(shown)
        while true {
            try editor.edit(file.path)
            let text = try file.read()
            if EditFile.typed(text) == EditFile.typed(shown) {
                if let lastError { throw lastError }
                return EditDocument(base, saved: nil)
            }
            do {
                return try await save(text, &base)
            } catch {
                // A program in the place of an editor would be called without end: nobody is there to mend it.
                failures += 1
                if failures > Self.unattendedAttempts, isatty(context.input) != 1 { throw Self.cause(error) }
                if let again = error as? EditAgain {
                    lastError = again.cause
                    shown = EditFile.annotated(text, again.lines)
                } else if let error = error as? ControlError, error.isForEditing {
                    lastError = error
                    shown = EditFile.annotated(text, Self.lines(error))
                } else {
                    throw error
                }
            }
            try file.write(shown)
        }
    }

    /// How often an editor is opened again where no person is at the terminal.
    private static let unattendedAttempts = 2

    private static func cause(_ error: any Error) -> any Error { (error as? EditAgain)?.cause ?? error }

    private func save(_ text: String, _ base: inout Configuration) async throws -> EditDocument {
        while true {
            let (configuration, secrets) = try form.read(EditFile.typed(text), into: base)
            if configuration == base, secrets == nil { return EditDocument(base, saved: nil) }
            switch await outcome(configuration, base.generation, secrets) {
            case .success(let saved): return EditDocument(configuration, saved: saved)
            case .failure(let error):
                guard error.name == .configurationStale else { throw error }
                let theirs = try await context.daemon.load(base.identifier)
                let old = base
                base = theirs
                try choose(error, old, theirs)
            }
        }
    }

    private func outcome(
        _ configuration: Configuration,
        _ generation: Int,
        _ secrets: NewSecrets?
    ) async -> Result<ConfigurationsCalls.SaveReply, ControlError> {
        do throws(ControlError) {
            let remedy = "Give it another name."
            return .success(
                try await context.save(configuration, generation: generation, secrets: secrets, whereTaken: remedy)
            )
        } catch {
            return .failure(error)
        }
    }

    // MARK: Somebody else saved meanwhile

    /// Returns where the person wants what was typed saved over what somebody else saved.
    ///
    /// - Throws: `EditAgain` to go on editing; the error itself to stop.
    private func choose(_ error: ControlError, _ base: Configuration, _ theirs: Configuration) throws {
        let changes = try Self.changes(from: base, to: theirs)
        context.console.note(
            "\(base.name) was saved by somebody else meanwhile: generation \(theirs.generation) is stored."
        )
        for change in changes { context.console.note("  there: \(change)") }
        while true {
            context.console.note(
                "o: put yours over it; e: edit yours again; q: stop, and keep yours in its file. [o/e/q]"
            )
            switch readLine() {
            case "o": return
            case "e":
                let heading = "Somebody else saved generation \(theirs.generation) meanwhile, with these changes:"
                throw EditAgain(cause: error, lines: [heading] + changes.map { "  \($0)" } + Self.giveUp)
            case nil, "q": throw error
            default: continue
            }
        }
    }

    /// What differs, a line for each key: "enabled: true → false".
    private static func changes(from old: Configuration, to new: Configuration) throws -> [String] {
        let old = try JSONValue(encoding: old.withoutKeysInHooks).object ?? [:]
        let new = try JSONValue(encoding: new.withoutKeysInHooks).object ?? [:]
        return try Set(old.keys).union(new.keys).subtracting(["generation"]).sorted().compactMap { key in
            guard old[key] != new[key] else { return nil }
            return "\(key): \(try old[key].map(Console.jsonLine) ?? "unset") → "
                + "\(try new[key].map(Console.jsonLine) ?? "unset")"
        }
    }

    /// A line of standard input; nil at its end.
    private func readLine() -> String? {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < 64 {
            let count = unsafe read(context.input, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self) }
            if byte == UInt8(ascii: "\n") { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Errors

    private struct EditAgain: Error {
        let cause: ControlError
        let lines: [String]
    }

    private static let giveUp = ["Leave the file as it is to give up; what was typed stays in it."]

    private static func lines(_ error: ControlError) -> [String] {
        [
            error.message, error.field.map { "at: \($0)" }, error.reason.map { "why: \($0)" },
            error.remedy.map { "do: \($0)" },
        ]
        .compactMap(\.self) + giveUp
    }

    /// The error, with where to find what was typed.
    private static func kept(_ error: any Error, _ path: String) -> any Error {
        var told = error as? ControlError ?? ControlError(.internalError, "The edit failed.", reason: "\(error)")
        told.remedy = [told.remedy, "What you typed is in \(path)."].compactMap(\.self).joined(separator: " ")
        return told
    }
}

extension ControlError {
    /// Whether another text may fare better.
    fileprivate var isForEditing: Bool {
        switch name {
        case .configurationInvalid, .nameTaken, .invalidParameter, .secretUnavailable, .providerUnknown, .tooMany: true
        default: false
        }
    }
}

/// What `edit` prints.
private struct EditDocument: Encodable {
    let identifier: String
    let name: String
    let generation: Int
    let changed: Bool
    let warnings: [String]

    init(_ configuration: Configuration, saved: ConfigurationsCalls.SaveReply?) {
        identifier = configuration.identifier
        name = configuration.name
        generation = saved?.generation ?? configuration.generation
        changed = saved.map { $0.generation != configuration.generation } ?? false
        warnings = saved?.warnings ?? []
    }

    var lines: [StyledText] {
        let head: StyledText =
            changed
            ? "\(name, .bold) has generation \(generation) now." : "\(name, .bold) wasn't changed; nothing is saved."
        return [head] + warnings.map { "  \("warning", .attention): \($0)" }
    }
}
