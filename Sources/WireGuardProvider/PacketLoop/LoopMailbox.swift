import LinuxSystem
import Synchronization

/// Commands on their way to the packet loop.
final class LoopMailbox: Sendable {
    private let commands = Mutex<[LoopCommand]>([])
    private let event: EventDescriptor

    init() throws(SystemError) { event = try EventDescriptor() }

    /// Readable while there are commands, or after `wake`.
    var descriptor: SharedDescriptor { event.descriptor }

    func post(_ more: [LoopCommand]) {
        commands.withLock { $0 += more }
        event.signal()
    }

    /// Makes the loop give its queue back.
    func wake() { event.signal() }

    func take() -> [LoopCommand] {
        event.consume()
        return commands.withLock { commands in
            defer { commands = [] }
            return commands
        }
    }
}
