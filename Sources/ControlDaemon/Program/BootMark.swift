import LinuxSystem

/// Tells whether tunneld starts for the first time since the machine, or the container, was started.
struct BootMark {
    /// Where the last start left its mark, in one of these: on a disk that survives, or, where nothing can be written to
    /// that, in the runtime directory.
    let paths: [String]
    private let present = Self.present()

    /// What differs after every start of the machine or the container.
    static func present() -> String {
        let boot = Self.text("/proc/sys/kernel/random/boot_id")
        // A container keeps the machine's boot id, but its first process is another one.
        let first = Self.text("/proc/1/stat").split(separator: ")").last?.split(separator: " ")
        // Field 22 (proc_pid_stat(5)), the start time; the first behind the name is field 3.
        let started = first.flatMap { $0.count > 19 ? String($0[19]) : nil } ?? ""
        return "\(boot.filter { !$0.isWhitespace }) \(started)\n"
    }

    var isFirstStart: Bool { !paths.contains { Self.text($0) == present } }

    /// Remembers this start.
    ///
    /// - Throws: where it can be written in none of the places: the last one's error.
    func set() throws(SystemError) {
        for path in paths.dropLast() {
            if (try? AtomicFile.write(Array(present.utf8), to: path, mode: 0o600)) != nil { return }
        }
        if let last = paths.last { try AtomicFile.write(Array(present.utf8), to: last, mode: 0o600) }
    }

    private static func text(_ path: String) -> String {
        String(decoding: (try? FileSystem.contents(ofFile: path, limit: 4096)) ?? [], as: UTF8.self)
    }
}
