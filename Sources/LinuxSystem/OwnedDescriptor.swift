import Glibc

/// A file descriptor that is closed when its owner goes.
///
/// Every descriptor here is close-on-exec from birth, so a child only gets what is passed on purpose.
package struct OwnedDescriptor: ~Copyable, Sendable {
    package let raw: Int32

    package init(adopting raw: Int32) { self.raw = raw }

    deinit { _ = close(raw) }

    /// Gives the number away; the caller closes it.
    package consuming func release() -> Int32 {
        let raw = raw
        discard self
        return raw
    }

    /// A second descriptor for the same open file (fcntl(2), F_DUPFD_CLOEXEC).
    package borrowing func duplicate() throws(SystemError) -> OwnedDescriptor {
        let raw = raw
        return OwnedDescriptor(adopting: try check("fcntl(F_DUPFD_CLOEXEC)") { fcntl(raw, F_DUPFD_CLOEXEC, 3) })
    }
}

/// A descriptor that several owners share; closed when the last one goes.
package final class SharedDescriptor: Sendable {
    private let owned: OwnedDescriptor

    package init(_ owned: consuming OwnedDescriptor) { self.owned = owned }

    package var raw: Int32 { owned.raw }

    package func duplicate() throws(SystemError) -> OwnedDescriptor { try owned.duplicate() }
}
