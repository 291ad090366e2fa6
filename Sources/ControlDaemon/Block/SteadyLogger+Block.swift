import HostNetwork
import Journal
import LinuxSystem

extension SteadyLogger {
    /// Tells what happened to the block; who takes its rules away again and again doesn't fill the journal.
    func log(_ incident: BlockIncident) {
        switch incident {
        case .restored(let count):
            log(
                .warning,
                topic: "block-restored",
                at: .now(),
                "Others had removed or changed the rules of the block; they are back (\(count) times so far)."
            )
        case .failed(let error):
            log(.error, topic: "block-failed", at: .now(), "It is tried again and again: \(error)")
        }
    }
}
