import ControlAPI
import Glibc
import LinuxSystem

/// The file that a person edits: nobody else's to read, and removed only when nothing in it is worth keeping.
struct EditFile {
    /// What begins a line of ours, which isn't a part of what was typed.
    static let mark = "#!"
    private static let limit = 16 << 20
    private static let folderPrefix = "tunnelctl-edit-"

    let path: String
    private let folder: String

    /// - Parameter fileName: what the editor shows; its end says what kind of file it is.
    init(fileName: String, environment: (String) -> String?) throws(ControlError) {
        let parent = ["XDG_RUNTIME_DIR", "TMPDIR"].lazy.compactMap(environment).first { unsafe access($0, W_OK) == 0 }
        var template = Array("\(parent ?? "/tmp")/\(Self.folderPrefix)XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Self.failed("made", SystemError(errno, in: "mkdtemp")) }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = "\(folder)/\(fileName)"
    }

    func write(_ text: String) throws(ControlError) {
        do throws(SystemError) {
            try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600)
        } catch {
            throw Self.failed("written", error)
        }
    }

    func read() throws(ControlError) -> String {
        do throws(SystemError) {
            return String(decoding: try FileSystem.contents(ofFile: path, limit: Self.limit), as: UTF8.self)
        } catch {
            throw Self.failed("read", error)
        }
    }

    /// Removes it, with what the editor left beside it.
    func remove() { try? FolderRemoval.remove(folder) }

    /// A text without the lines that are ours.
    static func typed(_ text: String) -> String {
        guard text.contains(mark) else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix(mark) }
            .joined(separator: "\n")
    }

    /// A text with lines of ours above it.
    static func annotated(_ text: String, _ lines: [String]) -> String {
        lines.flatMap { $0.split(separator: "\n") }.map { "\(mark) \($0)\n" }.joined() + typed(text)
    }

    private static func failed(_ what: String, _ error: SystemError) -> ControlError {
        ControlError(
            .internalError,
            "The file to edit can't be \(what).",
            reason: "\(error)",
            remedy: error.fileRemedy("the folder of temporary files", or: "name another in TMPDIR")
        )
    }
}
