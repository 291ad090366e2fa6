import ControlAPI
import FoundationEssentials
import HostNetwork
import LinuxSystem

/// The records of the running sessions, one file each, in the runtime directory.
struct SessionJournal: Sendable {
    private static let suffix = ".json"
    private static let limit = 8 << 20
    let folder: String

    func write(_ record: SessionRecord) throws {
        let bytes = try JSONEncoder().encode(record)
        try AtomicFile.write(Array(bytes), to: path(record.configuration.identifier), mode: 0o600)
    }

    func remove(_ identifier: String) throws(SystemError) { try AtomicFile.remove(path(identifier)) }

    /// What an earlier tunneld left.
    ///
    /// - Returns: the records, and the files that can't be understood, which stay.
    func records() throws(SystemError) -> (records: [SessionRecord], damaged: [String]) {
        var records: [SessionRecord] = []
        var damaged: [String] = []
        try AtomicFile.removeTemporaryFiles(in: folder)
        for name in try FileSystem.names(inFolder: folder).sorted() where name.hasSuffix(Self.suffix) {
            let path = "\(folder)/\(name)"
            guard let bytes = try? FileSystem.contents(ofFile: path, limit: Self.limit),
                let record = try? JSONDecoder().decode(SessionRecord.self, from: Data(bytes)),
                record.version == SessionRecord.version, self.path(record.configuration.identifier) == path
            else {
                damaged.append(path)
                continue
            }
            records.append(record)
        }
        return (records, damaged)
    }

    /// The interfaces whose name servers an earlier tunneld put in force.
    func interfacesWithDNS() throws(SystemError) -> Set<InterfaceIdentity> {
        Set(try records().records.compactMap(\.network.dns?.interface))
    }

    func path(_ identifier: String) -> String { "\(folder)/\(identifier)\(Self.suffix)" }
}
