import ControlAPI
import FoundationEssentials
import Keychain
import LinuxSystem

/// What the next provider of a session is given of what the last one learned, for the case that tunneld ends together with
/// it: two files beside the session's journal, in memory as that is, and gone with the session.
struct SessionMemory: Sendable {
    private static let limit = 32 << 20
    let folder: String
    let keychain: Keychain

    private struct Endpoints: Codable {
        var session: String
        var endpoints: [String: String]
    }

    /// Where each peer was last heard, by public key.
    func keep(_ endpoints: [String: String], of identifier: String, in session: String) throws {
        let bytes = try JSONEncoder().encode(Endpoints(session: session, endpoints: endpoints))
        try AtomicFile.write(Array(bytes), to: path(identifier, "endpoints"), mode: 0o600)
    }

    /// - Returns: nothing where nothing was kept in this session.
    func endpoints(of identifier: String, in session: String) -> [String: String] {
        guard let bytes = try? FileSystem.contents(ofFile: path(identifier, "endpoints"), limit: Self.limit),
            let kept = try? JSONDecoder().decode(Endpoints.self, from: Data(bytes)), kept.session == session
        else { return [:] }
        return kept.endpoints
    }

    /// The session's own changes (`DescriptorLabel.changes`): they hold keys, so they are sealed.
    func keep(changes: SharedDescriptor, of identifier: String, in session: String) throws {
        let sealed = try keychain.seal(changes, limit: Self.limit, for: session)
        try AtomicFile.write(sealed, to: path(identifier, "changes"), mode: 0o600)
    }

    /// - Returns: nil where there are none.
    /// - Throws: `SystemError`, `KeychainError` for what was kept and can't be had, as for what another session kept.
    func changes(of identifier: String, in session: String) throws -> SharedDescriptor? {
        let sealed: [UInt8]
        do throws(SystemError) {
            sealed = try FileSystem.contents(ofFile: path(identifier, "changes"), limit: Self.limit)
        } catch {
            guard error.isAbsentFile else { throw error }
            return nil
        }
        return try keychain.openMemory(sealed, for: session)
    }

    func forget(_ identifier: String) {
        for kind in ["endpoints", "changes"] { try? AtomicFile.remove(path(identifier, kind)) }
    }

    private func path(_ identifier: String, _ kind: String) -> String { "\(folder)/\(identifier).\(kind)" }
}
