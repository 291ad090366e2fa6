import Glibc

/// The descriptors 0 to 2 and the signal that comes from writing to a closed one.
package enum StandardDescriptors {
    /// Makes them safe to have: to be called before anything else is opened.
    ///
    /// Each that is closed becomes `/dev/null`, or the next file that is opened would get its number and what is written to
    /// standard error. SIGPIPE is ignored, so a write to a closed pipe gives EPIPE; children inherit that.
    package static func secure() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number, so this one; a failure leaves it as it was.
            _ = unsafe open("/dev/null", O_RDWR)
        }
        _ = signal(SIGPIPE, SIG_IGN)
    }
}
