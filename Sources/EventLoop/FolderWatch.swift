package import Dispatch
import Glibc
package import LinuxSystem

/// Tells the names of the files in a folder that somebody wrote and closed, put there, or took away (inotify(7)).
///
/// A file that is still being written isn't told before it is closed.
package final class FolderWatch: Sendable {
    package enum News: Equatable, Sendable {
        case names(Set<String>)
        /// More happened than the kernel could keep: anything may have changed.
        case overflow
        /// The folder itself is gone: nothing more will come.
        case folderGone
    }

    private static let bufferBytes = 64 << 10
    private let descriptor: SharedDescriptor
    private let source: DescriptorSource

    /// - Parameters:
    ///   - queue: where the handler is called.
    ///   - handler: gets what happened since the last call.
    package init(
        _ folder: String,
        on queue: DispatchQueue,
        handler: @escaping @Sendable (News) -> Void
    ) throws(SystemError) {
        let raw = try check("inotify_init1") { inotify_init1(Int32(O_CLOEXEC | O_NONBLOCK)) }
        let descriptor = SharedDescriptor(OwnedDescriptor(adopting: raw))
        let mask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
        try check("inotify_add_watch") { unsafe inotify_add_watch(raw, folder, UInt32(mask) | UInt32(IN_ONLYDIR)) }
        self.descriptor = descriptor
        source = DescriptorSource(descriptor, .readable, canHangUp: false, on: queue) {
            for news in Self.read(descriptor) { handler(news) }
        }
        source.resume()
    }

    package func cancel() { source.cancel() }

    /// Everything that waits to be read.
    private static func read(_ descriptor: SharedDescriptor) -> [News] {
        var names: Set<String> = []
        var others: [News] = []
        var buffer = [UInt8](repeating: 0, count: bufferBytes)
        while true {
            let count = unsafe Glibc.read(descriptor.raw, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            for event in InotifyEvents(bytes: buffer[..<count]) {
                if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
                    others.append(.overflow)
                } else if event.mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF) != 0 {
                    others.append(.folderGone)
                } else if !event.name.isEmpty {
                    names.insert(event.name)
                }
            }
        }
        return (names.isEmpty ? [] : [.names(names)]) + others
    }
}

/// The events in what was read: watch, mask, cookie and length of the name, 4 bytes each, then the name with zeros behind.
private struct InotifyEvents: Sequence, IteratorProtocol {
    struct Event {
        let mask: UInt32
        let name: String
    }

    private var rest: ArraySlice<UInt8>

    init(bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> Event? {
        guard rest.count >= 16 else { return nil }
        let mask = number(at: 4)
        let length = Int(number(at: 12))
        guard rest.count >= 16 + length else { return nil }
        let name = rest.dropFirst(16).prefix(length).prefix { $0 != 0 }
        rest = rest.dropFirst(16 + length)
        return Event(mask: mask, name: String(decoding: name, as: UTF8.self))
    }

    private func number(at offset: Int) -> UInt32 {
        rest.dropFirst(offset).prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
