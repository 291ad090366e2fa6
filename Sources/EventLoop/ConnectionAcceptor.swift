package import Dispatch
package import LinuxSystem
import NetworkTypes
import Synchronization

/// Tells when somebody waits at a listening socket, and lets them in one by one.
///
/// While descriptors or memory are short, who waits stays in the backlog: the socket is left alone for a second, since it
/// would be reported readable without end, and asking again at once would only spin. Starts suspended. As with
/// `DescriptorSource`, capture the owner weakly in the handler.
package final class ConnectionAcceptor: Sendable {
    package typealias Accept = @Sendable (Int32) throws(SystemError) -> OwnedDescriptor?

    private static let pause = Interval.seconds(1)

    private let listener: SharedDescriptor
    private let source: DescriptorSource
    private let accept: Accept
    private let isPaused = Mutex(false)
    /// There from the beginning: Dispatch would open its own only when it is needed, and get no descriptor for it.
    private let timer = Mutex<BootTimer?>(nil)

    /// - Parameters:
    ///   - listener: non-blocking.
    ///   - accept: another than the system's, in a test.
    ///   - handler: called on `queue`, to call `next` until it gives nil.
    /// - Throws: where there is no descriptor for the timer.
    package init(
        _ listener: SharedDescriptor,
        on queue: DispatchQueue,
        accept: @escaping Accept = UnixSocket.accept,
        handler: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        self.listener = listener
        self.accept = accept
        source = DescriptorSource(listener, .readable, canHangUp: false, on: queue, handler: handler)
        let timer = try BootTimer(on: queue) { @Sendable [weak self] in self?.resumeAfterPause() }
        self.timer.withLock { $0 = timer }
    }

    package func resume() { source.resume() }

    /// Ends for good; see `DescriptorSource.cancel`.
    package func cancel() { source.cancel() }

    /// Lets the next one in; nil where nobody waits, or where nobody can be let in now.
    package func next() -> OwnedDescriptor? {
        guard !isPaused.withLock({ $0 }) else { return nil }
        do throws(SystemError) {
            return try accept(listener.raw)
        } catch {
            pause()
            return nil
        }
    }

    private func pause() {
        isPaused.withLock { $0 = true }
        source.suspend()
        // What was short may be freed by any part of the process, or of the machine.
        timer.withLock { $0?.set(.now() + Self.pause) }
    }

    private func resumeAfterPause() {
        isPaused.withLock { $0 = false }
        source.resume()
    }
}
