package import LinuxSystem

/// The points of a change at which a crash finds different things on the disk.
///
/// Each is named so that a test can end there.
package enum StoreStep: Hashable, Sendable {
    /// One of the files is written: what the save is about, or the configuration.
    case pending(AtomicFile.Step)
    case configuration(AtomicFile.Step)
    /// The new items are noted; they are there; they belong to a configuration.
    case itemsNoted, itemAdded, itemsSettled
    /// The new generation is in the history; an old one is gone from it.
    case generationKept, generationDropped
    /// A removal is certain to be finished; the file is gone; the history is.
    case removalNoted, fileRemoved, historyRemoved
    /// An item that nothing refers to any more is gone.
    case itemRemoved

    package static let all: [StoreStep] =
        AtomicFile.Step.allCases.flatMap { [.pending($0), .configuration($0)] } + [
            .itemsNoted, .itemAdded, .itemsSettled, .generationKept, .generationDropped, .removalNoted, .fileRemoved,
            .historyRemoved, .itemRemoved,
        ]
}
