import LinuxSystem

/// Files that can't be used, under names of their own, for a person to look into; nothing here is ever erased.
struct DamagedFiles: Sendable {
    let folder: String

    /// Moves a file here, under its name, the time and a number.
    ///
    /// - Parameter name: in the place of its own.
    /// - Returns: its new path.
    func setAside(_ path: String, as name: String? = nil) throws(SystemError) -> String {
        let name = name ?? path.split(separator: "/").last.map(String.init) ?? "file"
        let stem =
            name.hasSuffix(ConfigurationFile.suffix) ? String(name.dropLast(ConfigurationFile.suffix.count)) : name
        let taken = Set(try FileSystem.names(inFolder: folder))
        let base = "\(stem).\(WallClockTime.now().seconds)"
        var number = 1
        var aside = "\(base)\(ConfigurationFile.suffix)"
        while taken.contains(aside) {
            number += 1
            aside = "\(base).\(number)\(ConfigurationFile.suffix)"
        }
        try AtomicFile.move(path, to: "\(folder)/\(aside)")
        return "\(folder)/\(aside)"
    }

    /// What became of a configuration's file, in sentences.
    ///
    /// - Parameter seconds: when its last generation was saved; what was set aside before is another story.
    func reason(_ identifier: String, since seconds: Int) -> String {
        let names = (try? FileSystem.names(inFolder: folder)) ?? []
        let aside = names.filter { name in
            let parts = name.split(separator: ".")
            return parts.count > 1 && parts[0] == identifier && Int(parts[1]).map { $0 >= seconds } == true
        }
        guard let last = aside.max() else {
            return "Its file was removed by somebody else, or can't be read."
        }
        return "Its file can't be used and was set aside as \(folder)/\(last)."
    }
}
