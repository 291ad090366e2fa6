import ControlAPI
package import LinuxSystem

/// Files that somebody else than tunneld wrote.
extension ConfigurationStore {
    /// Whether a configuration's file is as tunneld wrote it last, or there is neither a file nor a configuration.
    func isAsWritten(_ identifier: String) -> Bool {
        let stamp = try? FileStamp(of: file(identifier))
        guard let present = configuration(identifier) else { return stamp == nil }
        guard let stamp else { return false }
        if stamp == (try? FileStamp(of: history.file(identifier, present.generation))) { return true }
        return present == (try? ConfigurationFile.read(file(identifier), identifier: identifier))
    }

    /// Writes a file anew as the configuration is stored.
    package func rewrite(_ identifier: String) {
        guard let present = configuration(identifier) else { return }
        do {
            let bytes = try ConfigurationFile.encode(present)
            try history.prepare(identifier)
            try AtomicFile.write(bytes, to: history.file(identifier, present.generation), mode: 0o600)
            try AtomicFile.write(bytes, to: file(identifier), mode: 0o600)
            try FileStamp(of: file(identifier)).apply(to: history.file(identifier, present.generation))
        } catch {
            incidents.add("The file of \(present.name) can't be written anew: \(error)")
        }
    }

    /// Sets a file aside that can't be used; where its configuration is stored, that stays in force, and has its file again.
    ///
    /// - Parameter stamp: of the file that was judged; another one isn't touched.
    package func reject(_ identifier: String, name: String, _ stamp: FileStamp, _ reason: String) {
        let path = "\(directories.configurations)/\(name)"
        guard stamp == (try? FileStamp(of: path)) else { return }
        do throws(SystemError) {
            let aside = try DamagedFiles(folder: directories.damaged).setAside(path)
            let present = configuration(identifier)
            let rest = present.map { " Generation \($0.generation) of \($0.name) stays in force." } ?? ""
            incidents.add(
                "The file \(path), which somebody else wrote, can't be used: \(reason) It was set aside as \(aside).\(rest)"
            )
            rewrite(identifier)
        } catch {
            incidents.add("The file \(path) can't be used: \(reason) It can't be set aside: \(error)")
        }
    }

    /// Keeps what somebody else wrote and nobody has looked at yet from being overwritten.
    func keepForeignFile(_ identifier: String) throws(SystemError) {
        guard configuration(identifier) != nil, !isAsWritten(identifier), (try? FileStamp(of: file(identifier))) != nil
        else { return }
        let aside = try DamagedFiles(folder: directories.damaged).setAside(file(identifier))
        incidents.add(
            "The file \(file(identifier)) was written by somebody else while a client saved its configuration. It was set "
                + "aside as \(aside)."
        )
    }
}
