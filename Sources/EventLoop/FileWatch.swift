package import Dispatch
import Glibc
package import LinuxSystem

/// Tells that somebody wrote to one file, under whatever name, or took it away (inotify(7)).
package final class FileWatch: Sendable {
    private let source: DescriptorSource

    /// - Parameter handler: called on the queue, once for all that has happened.
    package init(
        _ path: String,
        on queue: DispatchQueue,
        handler: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let raw = try check("inotify_init1") { inotify_init1(Int32(O_CLOEXEC | O_NONBLOCK)) }
        let descriptor = SharedDescriptor(OwnedDescriptor(adopting: raw))
        // IN_ATTRIB comes when its last name goes.
        let mask = UInt32(IN_CLOSE_WRITE | IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB) | UInt32(IN_DONT_FOLLOW)
        try check("inotify_add_watch") { unsafe inotify_add_watch(raw, path, mask) }
        source = DescriptorSource(descriptor, .readable, canHangUp: false, on: queue) {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while unsafe read(descriptor.raw, &buffer, buffer.count) > 0 {}
            handler()
        }
        source.resume()
    }

    package func cancel() { source.cancel() }
}
