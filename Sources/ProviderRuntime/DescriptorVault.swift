package import ControlAPI
package import LinuxSystem

/// Descriptors that tunneld has sent, by label, until the call that names them takes them.
package struct DescriptorVault: Sendable {
    /// More than one start needs; beyond it new ones are closed unread.
    package static let limit = 16

    private var waiting: [String: Entry] = [:]

    private struct Entry: Sendable {
        let descriptor: SharedDescriptor
        let sender: ControllerSeat.ProcessIdentifier
    }

    package init() {}

    package var count: Int { waiting.count }

    /// Keeps a descriptor; one that waited under the same label is closed.
    package mutating func keep(
        _ descriptor: SharedDescriptor,
        label: String,
        from sender: ControllerSeat.ProcessIdentifier
    ) {
        guard waiting[label] != nil || waiting.count < Self.limit else { return }
        waiting[label] = Entry(descriptor: descriptor, sender: sender)
    }

    /// Hands over the descriptors that a call names, all or none.
    ///
    /// - Throws: `invalidParameter` for a label twice, or one that this process hasn't sent.
    package mutating func claim(
        _ labels: [String],
        from sender: ControllerSeat.ProcessIdentifier
    ) throws(ControlError) -> [String: SharedDescriptor] {
        var claimed: [String: SharedDescriptor] = [:]
        for label in labels {
            guard let entry = waiting[label], entry.sender == sender else {
                throw ControlError(
                    .invalidParameter,
                    "A descriptor that the call names was not sent.",
                    reason: "Nothing labelled \"\(label)\" waits on the descriptor socket.",
                    field: "descriptors"
                )
            }
            guard claimed.updateValue(entry.descriptor, forKey: label) == nil else {
                throw ControlError(
                    .invalidParameter,
                    "The call names a descriptor twice.",
                    reason: "\"\(label)\" stands there more than once.",
                    field: "descriptors"
                )
            }
        }
        for label in labels { waiting[label] = nil }
        return claimed
    }

    /// Closes what another process than the controller has sent.
    package mutating func keepOnly(from sender: ControllerSeat.ProcessIdentifier) {
        waiting = waiting.filter { $0.value.sender == sender }
    }
}
