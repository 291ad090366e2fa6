package import Dispatch
package import LinuxSystem
import Synchronization

/// Calls a handler on a queue whenever a descriptor is readable, or writable.
///
/// The handler is called again as long as the descriptor stays ready, or hung up. Starts suspended. The descriptor is held
/// until the cancellation has finished, so it can't be closed, and its number used again, while Dispatch still watches it.
///
/// A source keeps its handler, and so whatever the handler captures, until it is cancelled: capture the owner weakly,
/// and cancel in the owner's stop, or let the source go with its owner, which cancels it.
///
/// Dispatch never sees a descriptor that can hang up: it would stop watching it on the source's queue, while its own thread
/// may still go through what watches that descriptor, and crash (seen with Swift 6.3.1). It watches an epoll with that
/// descriptor in it instead, which is only ever readable.
package final class DescriptorSource: @unchecked Sendable {  // A Dispatch source may be called from any thread.
    package enum Readiness: Sendable { case readable, writable }
    private enum State {
        /// Nothing is watched yet, so that a source that is never needed costs nothing.
        case new(handler: @Sendable () -> Void)
        case suspended(any DispatchSourceProtocol)
        case active(any DispatchSourceProtocol)
        case cancelled
    }

    private let descriptor: SharedDescriptor
    private let readiness: Readiness
    private let canHangUp: Bool
    private let queue: DispatchQueue
    private let state: Mutex<State>

    /// - Parameter canHangUp: false for what has no other end: timers, inotify, netlink, epoll, listening sockets.
    package init(
        _ descriptor: SharedDescriptor,
        _ readiness: Readiness,
        canHangUp: Bool = true,
        on queue: DispatchQueue,
        handler: @escaping @Sendable () -> Void
    ) {
        self.descriptor = descriptor
        self.readiness = readiness
        self.canHangUp = canHangUp
        self.queue = queue
        state = Mutex(.new(handler: handler))
    }

    deinit { cancel() }

    /// Begins, or goes on after `suspend`.
    package func resume() {
        state.withLock { state in
            switch state {
            case .new(let handler):
                let source = makeSource(handler)
                state = .active(source)
                source.resume()
            case .suspended(let source):
                state = .active(source)
                source.resume()
            case .active, .cancelled: return
            }
        }
    }

    /// Calls no handler until `resume`; one that is running goes on.
    package func suspend() {
        state.withLock { state in
            guard case .active(let source) = state else { return }
            state = .suspended(source)
            source.suspend()
        }
    }

    /// Ends for good; on the source's own queue no handler runs any more once this has returned.
    package func cancel() {
        state.withLock { state in
            switch state {
            case .new: break
            case .active(let source): source.cancel()
            case .suspended(let source):
                source.cancel()
                // Dispatch neither finishes the cancellation of a suspended source nor lets one be released.
                source.resume()
            case .cancelled: return
            }
            state = .cancelled
        }
    }

    private func makeSource(_ handler: @escaping @Sendable () -> Void) -> any DispatchSourceProtocol {
        let descriptor = descriptor
        let watched = canHangUp ? epoll() : nil
        let source: any DispatchSourceProtocol =
            if let watched {
                DispatchSource.makeReadSource(fileDescriptor: watched.raw, queue: queue)
            } else if readiness == .readable {
                DispatchSource.makeReadSource(fileDescriptor: descriptor.raw, queue: queue)
            } else {
                DispatchSource.makeWriteSource(fileDescriptor: descriptor.raw, queue: queue)
            }
        source.setEventHandler(handler: handler)
        source.setCancelHandler { @Sendable in withExtendedLifetime((descriptor, watched)) {} }
        return source
    }

    /// An epoll with the descriptor in it; nil where the process has no descriptor left for one.
    private func epoll() -> SharedDescriptor? {
        do throws(SystemError) {
            let epoll = try Epoll()
            try epoll.add(descriptor.raw, for: readiness == .readable ? .readable : .writable, token: 0)
            return epoll.descriptor
        } catch {
            return nil
        }
    }
}
