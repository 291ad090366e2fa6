import Dispatch
import EventLoop
import LinuxSystem
import NetworkTypes

extension VarlinkServer {
    func accept(on listener: UnixListener) {
        // Bounded, so that a crowd at the door doesn't keep the queue from those who are in.
        for _ in 0..<64 where !acceptingPaused {
            do throws(SystemError) {
                guard let descriptor = try acceptNext(listener.descriptor.raw) else { return }
                serve(SharedDescriptor(descriptor))
            } catch {
                pauseAccepting(error)
            }
        }
    }

    /// Leaves who waits in the backlog: asking again at once would only spin.
    private func pauseAccepting(_ error: SystemError) {
        acceptingPaused = true
        for (_, source) in listeners { source.suspend() }
        report(.acceptingPaused(error))
        // What was short may be freed by any part of the process, or of the machine.
        resumeTimer?.set(.now() + .seconds(1))
    }

    /// Called after a while, and as soon as a connection has closed.
    func resumeAccepting() {
        guard acceptingPaused else { return }
        acceptingPaused = false
        for (_, source) in listeners { source.resume() }
        report(.acceptingResumed)
    }
}
