/// The names of routing tables (ip-route(8)): a file, and files of packages beside it.
package enum RoutingTableNames {
    package static let files = ["/etc/iproute2/rt_tables", "/usr/share/iproute2/rt_tables"]
    package static let folders = files.map { $0 + ".d" }
    /// Those that the kernel itself has (`rt_class_t` of linux/rtnetlink.h): known without any file.
    private static let ownTables: [String: UInt32] = ["default": 253, "main": 254, "local": 255]

    /// Whether a table is the kernel's alone: that of the machine's own addresses, or none at all.
    package static func isKernels(_ number: UInt32) -> Bool { number == 0 || number == ownTables["local"] }

    /// Where names are looked for, in words.
    package static var places: String { (files + folders.map { $0 + "/*.conf" }).joined(separator: ", ") }

    /// The number of a table; nil where no file has its name.
    package static func number(
        of name: String,
        files: [String] = RoutingTableNames.files,
        folders: [String] = RoutingTableNames.folders
    ) -> UInt32? {
        let more = folders.flatMap { folder in
            ((try? FileSystem.names(inFolder: folder)) ?? []).filter { $0.hasSuffix(".conf") }.sorted().map {
                "\(folder)/\($0)"
            }
        }
        for path in files + more {
            guard let bytes = try? FileSystem.contents(ofFile: path, limit: 1 << 20) else { continue }
            if let number = find(name, in: String(decoding: bytes, as: UTF8.self)) { return number }
        }
        return ownTables[name]
    }

    package static func find(_ name: String, in text: String) -> UInt32? {
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            guard words.count == 2, words[1] == name else { continue }
            if words[0].hasPrefix("0x") { return UInt32(words[0].dropFirst(2), radix: 16) }
            return UInt32(words[0])
        }
        return nil
    }
}
