import LinuxSystem

struct DNSUndoFailure: Error, Hashable, Sendable, CustomStringConvertible {
    let description: String
}

extension DNSRecord {
    /// Takes it back, by any process and as often as one likes; blocks for up to five seconds.
    ///
    /// What systemd-resolved was told goes with the link.
    /// - Returns: what was taken back, in words; nil where there was nothing.
    @discardableResult
    func undo() throws(DNSUndoFailure) -> String? {
        switch backend {
        case .resolved: return nil
        case .resolvconf:
            guard let path else { return nil }
            do throws(ProgramRun.Failure) {
                try ResolvconfProgram(path: path).remove(interface.name)
            } catch {
                throw DNSUndoFailure(description: "name servers of \(interface.name): \(error)")
            }
            return "name servers of \(interface.name) in resolvconf"
        case .file:
            guard let path else { return nil }
            do throws(SystemError) {
                let isRemoved = try ResolvConfFile(path: path).remove { $0 == interface }
                return isRemoved ? "name servers of \(interface.name) in \(path)" : nil
            } catch {
                throw DNSUndoFailure(description: "name servers of \(interface.name): \(error)")
            }
        }
    }
}
