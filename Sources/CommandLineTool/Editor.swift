import ControlAPI
import Glibc
import LinuxSystem

/// The person's editor, as the environment names it.
struct Editor {
    /// A command of the shell's, such as "code --wait".
    private let command: String

    /// $VISUAL, else $EDITOR, else the machine's own.
    ///
    /// - Throws: where there is none.
    init(environment: (String) -> String?) throws(ControlError) {
        let named = ["VISUAL", "EDITOR"].lazy.compactMap(environment).first { !$0.isEmpty }
        let usual: [String] = ["/usr/bin/sensible-editor", "/usr/bin/editor", "/usr/bin/vi", "/usr/bin/nano"]
        let own = usual.first { (path: String) in unsafe access(path, X_OK) == 0 }
        guard let command = named ?? own else {
            throw ControlError(
                .notFound,
                "There is no editor.",
                reason: "Neither VISUAL nor EDITOR is set, and none was found.",
                remedy: "Set EDITOR, or use `tunnelctl set`."
            )
        }
        self.command = command
    }

    /// Lets the person edit a file, and returns when the editor has ended.
    ///
    /// - Throws: where it can't be started, or says that it failed.
    func edit(_ path: String) throws(ControlError) {
        let status = try run(path)
        guard status != 0 else { return }
        let exit = (status >> 8) & 0xFF
        let signal = status & 0x7F
        throw ControlError(
            .internalError,
            "The editor failed, so nothing was saved.",
            reason: "`\(command)` ended with \(signal == 0 ? "exit code \(exit)" : "signal \(signal)").",
            remedy: "Set EDITOR to an editor that can be run here."
        )
    }

    /// - Returns: the status that waitpid(2) gives.
    private func run(_ path: String) throws(ControlError) -> Int32 {
        // What is typed at the terminal meanwhile is the editor's, Ctrl-C included.
        let ignored = [SIGINT, SIGQUIT].map { number in (number, signal(number, SIG_IGN)) }
        defer { for (number, handler) in ignored { _ = signal(number, handler) } }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var all = sigset_t()
        unsafe sigfillset(&all)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let words: [String] = ["sh", "-c", command + " \"$1\"", "sh", path]
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var pid: pid_t = 0
        let code = unsafe posix_spawn(&pid, "/bin/sh", nil, &attributes, &arguments, environ)
        guard code == 0 else {
            throw ControlError(
                .internalError,
                "The editor can't be started.",
                reason: "\(SystemError(code, in: "spawn"))"
            )
        }
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { return 0 }
        }
        return status
    }
}
