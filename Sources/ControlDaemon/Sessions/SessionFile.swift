import HostNetwork
import Synchronization

/// A session's record on disk, which two write at once while network settings are put in force.
///
/// The tunnel goes on meanwhile, so its status may change; and what is about to be done to the network must be written
/// before it is. Neither may undo what the other wrote.
final class SessionFile: Sendable {
    private struct Content {
        var record: SessionRecord
        /// What whoever changes the network has written; nil where nobody does.
        var changing: NetworkJournal?
    }

    private let journal: SessionJournal
    private let content: Mutex<Content>

    /// - Parameter record: what is on disk already, or will be by the first `write`.
    init(_ journal: SessionJournal, _ record: SessionRecord) {
        self.journal = journal
        content = Mutex(Content(record: record))
    }

    /// Writes everything but the network while that is being changed.
    func write(_ record: SessionRecord) throws {
        try content.withLock { content in
            content.record = record
            if let changing = content.changing { content.record.network = changing }
            try journal.write(content.record)
        }
    }

    /// Writes the network alone, until `endChange`.
    func write(changing network: NetworkJournal) throws {
        try content.withLock { content in
            content.changing = network
            content.record.network = network
            try journal.write(content.record)
        }
    }

    /// Leaves the network to the tunnel again.
    ///
    /// - Returns: what was written of it last; nil where nothing was.
    func endChange() -> NetworkJournal? {
        content.withLock { content in
            defer { content.changing = nil }
            return content.changing
        }
    }
}
