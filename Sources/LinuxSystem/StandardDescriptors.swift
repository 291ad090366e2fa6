import Glibc

/// The descriptors 0 to 2, and the signal that comes from writing to a closed pipe.
package enum StandardDescriptors {
    /// Makes them safe to use; to be called before anything else is opened.
    ///
    /// One that is closed is held by `/dev/null`, for reading where one writes and the other way round, so that using it
    /// fails as before (EBADF). Else the next file or socket would get its number, and what is meant for standard output.
    ///
    /// SIGPIPE is ignored, so that writing to a closed pipe or socket gives EPIPE; children inherit that.
    package static func secure() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // It gets the lowest number that is free: this one. Where it can't be opened, all stays as it was.
            _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        _ = signal(SIGPIPE, SIG_IGN)
    }
}
