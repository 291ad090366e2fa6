import Glibc

/// How many descriptors the process may have open (getrlimit(2), RLIMIT_NOFILE).
package enum DescriptorLimit {
    /// The limit that holds: no descriptor has this number or a higher one.
    package static var current: Int {
        var limits = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        return unsafe getrlimit(resource, &limits) == 0 ? Int(clamping: limits.rlim_cur) : 1024
    }

    /// Raises the soft limit to the hard one, or to `wanted` if that is less.
    ///
    /// Children inherit it; a child that uses select(2) needs the former value again.
    ///
    /// - Returns: the limit that holds now.
    @discardableResult
    package static func raise(to wanted: Int = 65_536) -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limits = rlimit()
        guard unsafe getrlimit(resource, &limits) == 0 else { return 1024 }
        let target = min(rlim_t(wanted), limits.rlim_max)
        if target > limits.rlim_cur {
            let former = limits.rlim_cur
            limits.rlim_cur = target
            if unsafe setrlimit(resource, &limits) != 0 { return Int(clamping: former) }
        }
        return Int(clamping: limits.rlim_cur)
    }
}
