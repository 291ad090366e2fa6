package import Dispatch
package import LinuxSystem
import Synchronization

/// Calls a handler on a queue whenever a descriptor is readable, or writable.
///
/// The handler is called again as long as the descriptor stays ready. Starts suspended. The descriptor is held until the
/// cancellation has finished, so it can't be closed, and its number used again, while Dispatch still watches it.
///
/// A source keeps its handler, and so whatever the handler captures, until it is cancelled: capture the owner weakly,
/// and cancel in the owner's stop, or let the source go with its owner, which cancels it.
package final class DescriptorSource: @unchecked Sendable {  // A Dispatch source may be called from any thread.
    package enum Readiness: Sendable { case readable, writable }
    private enum State { case suspended, active, cancelled }

    private let source: any DispatchSourceProtocol
    private let state = Mutex(State.suspended)

    package init(
        _ descriptor: SharedDescriptor,
        _ readiness: Readiness,
        on queue: DispatchQueue,
        handler: @escaping @Sendable () -> Void
    ) {
        switch readiness {
        case .readable: source = DispatchSource.makeReadSource(fileDescriptor: descriptor.raw, queue: queue)
        case .writable: source = DispatchSource.makeWriteSource(fileDescriptor: descriptor.raw, queue: queue)
        }
        source.setEventHandler(handler: handler)
        source.setCancelHandler { @Sendable in withExtendedLifetime(descriptor) {} }
    }

    deinit { cancel() }

    /// Begins, or goes on after `suspend`.
    package func resume() {
        state.withLock { state in
            guard state == .suspended else { return }
            state = .active
            source.resume()
        }
    }

    /// Calls no handler until `resume`; one that is running goes on.
    package func suspend() {
        state.withLock { state in
            guard state == .active else { return }
            state = .suspended
            source.suspend()
        }
    }

    /// Ends for good; on the source's own queue no handler runs any more once this has returned.
    package func cancel() {
        state.withLock { state in
            guard state != .cancelled else { return }
            source.cancel()
            // Dispatch neither finishes the cancellation of a suspended source nor lets one be released.
            if state == .suspended { source.resume() }
            state = .cancelled
        }
    }
}
