import Glibc

/// How much memory the process may keep from being swapped (getrlimit(2), RLIMIT_MEMLOCK).
package enum LockedMemoryLimit {
    /// Bytes; a process with CAP_IPC_LOCK is held by no limit.
    package static var current: UInt { limits?.rlim_cur ?? 0 }

    /// Raises the soft limit to the hard one, and both to `wanted` where the process may do that.
    ///
    /// Children inherit both.
    ///
    /// - Returns: the soft limit that holds now.
    @discardableResult
    package static func raise(to wanted: UInt) -> UInt {
        guard let former = limits else { return 0 }
        var target = former
        target.rlim_cur = max(former.rlim_cur, min(wanted, former.rlim_max))
        if wanted > former.rlim_max {
            var more = rlimit(rlim_cur: wanted, rlim_max: wanted)
            if unsafe setrlimit(resource, &more) == 0 { return wanted }
        }
        _ = unsafe setrlimit(resource, &target)
        return current
    }

    private static var resource: __rlimit_resource_t { __rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue) }

    private static var limits: rlimit? {
        var limits = rlimit()
        return unsafe getrlimit(resource, &limits) == 0 ? limits : nil
    }
}
