package import LinuxSystem

/// What `wg set` changed, in a sealed memfd: tunneld keeps it for the session and gives it to the next provider (design,
/// section 2).
///
/// It holds keys, so it stands in no message and no file.
package enum SessionChanges {
    /// As many as there may be of both kinds: peers of the configuration that are gone, and others.
    private static let maximumSections = 3 * DeviceOperation.maximumPeers
    private static let maximumBytes = 8 * DeviceOperation.maximumBytes

    package static func seal(_ change: DeviceChange) throws(SystemError) -> SharedDescriptor {
        var text = WipedBuffer()
        change.write(to: &text)
        let file = try unsafe MemoryFile.make(name: "changes", count: text.count) { room in
            unsafe text.copy(into: room)
        }
        return SharedDescriptor(file)
    }

    /// - Throws: `SystemError` for what is no sealed memfd or too large, `OperationError` for what isn't a change.
    package static func open(_ descriptor: SharedDescriptor) throws -> DeviceChange {
        let operation = try unsafe MemoryFile.withContents(of: descriptor.raw, limit: maximumBytes) { bytes in
            try unsafe DeviceOperation(parsing: RawSpan(_unsafeBytes: bytes), maximumPeers: maximumSections) { _ in nil
            }
        }
        guard case .set(let change) = operation else { throw OperationError.malformed }
        return change
    }
}
