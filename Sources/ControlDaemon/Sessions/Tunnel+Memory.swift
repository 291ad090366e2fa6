import ControlAPI
import Journal
import Keychain
import LinuxSystem

/// Keeps what a provider learned for the next one, and has it again where tunneld ended, too.
extension Tunnel {
    func keepEndpoints(_ state: ProviderState) {
        guard live?.remember(state) == true, let live else { return }
        keep { try services.memory.keep(live.endpoints, of: identifier, in: live.session) }
    }

    func keepChanges(_ changes: SharedDescriptor) {
        guard let live else { return }
        keep { try services.memory.keep(changes: changes, of: identifier, in: live.session) }
    }

    /// Has the session's own changes again, where nobody holds them any more.
    func recallChanges() {
        guard let live, live.descriptors[DescriptorLabel.changes] == nil else { return }
        do {
            self.live?.descriptors[DescriptorLabel.changes] =
                try services.memory.changes(of: identifier, in: live.session)
        } catch {
            log.warning("What was changed with wg in the session is lost: \(error)")
            note("What was changed with wg is lost; the configuration is in force.")
        }
    }

    /// The session goes on without; only the end of both processes at once would cost it.
    private func keep(_ body: () throws -> Void) {
        do { try body() } catch {
            guard live?.isMemoryLossTold == false else { return }
            live?.isMemoryLossTold = true
            log.warning(
                "What the provider learns of its peers can't be kept for the case that tunneld ends with it: \(error)"
            )
        }
    }
}
