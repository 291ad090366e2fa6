import CShims
import Glibc

/// An eventfd(2): readable from the first `signal` until `consume`.
package final class EventDescriptor: Sendable {
    package let descriptor: SharedDescriptor

    package init() throws(SystemError) {
        descriptor = SharedDescriptor(OwnedDescriptor(adopting: try checkShim("eventfd") { shim_eventfd_create() }))
    }

    /// Makes the descriptor readable; from any thread.
    package func signal() {
        var one: UInt64 = 1
        // Fails only with EAGAIN at the counter's end, where the descriptor is readable anyway.
        while unsafe write(descriptor.raw, &one, 8) < 0, errno == EINTR {}
    }

    /// Takes the signals so far.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package func consume() -> Bool {
        var count: UInt64 = 0
        while true {
            let result = unsafe read(descriptor.raw, &count, 8)
            if result == 8 { return true }
            if result >= 0 || errno != EINTR { return false }
        }
    }
}
