import LinuxSystem

/// Numbers the tunnelds of a runtime directory: a provider obeys the highest that it has seen.
enum Epoch {
    /// Takes the next number, and keeps it so that no later tunneld takes it again.
    static func next(path: String) throws(SystemError) -> UInt64 {
        let bytes = (try? FileSystem.contents(ofFile: path, limit: 64)) ?? []
        let last = UInt64(String(decoding: bytes, as: UTF8.self)) ?? 0
        let next = last &+ 1
        try AtomicFile.write(Array("\(next)".utf8), to: path, mode: 0o600)
        return next
    }
}
