import Glibc
package import LinuxSystem

/// Name servers that stand in /etc/resolv.conf for tunnels whose interfaces are gone, and that no journal names any more.
package enum StaleNameServers {
    package static let path = "/etc/resolv.conf"

    /// Takes them out.
    ///
    /// - Returns: whether there were any.
    package static func takeBack() throws(SystemError) -> Bool {
        try ResolvConfFile(path: path).remove { interface in
            let present = unsafe if_nametoindex(interface.name)
            return present != interface.index
        }
    }
}
