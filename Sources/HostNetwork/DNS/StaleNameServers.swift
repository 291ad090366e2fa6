import Glibc
import LinuxSystem

/// Name servers that stand in /etc/resolv.conf for tunnels whose interfaces are gone, and that no journal names any more.
package enum StaleNameServers {
    package static let path = "/etc/resolv.conf"

    /// Takes them out; those of another tunneld that shares the file have their interfaces, and stay.
    ///
    /// - Parameter kept: the interfaces of those that are gone on with, or taken back by their journals.
    /// - Returns: what was taken out, or why it couldn't be, in words; neither where there was nothing.
    package static func takeBack(
        from path: String = path,
        keeping kept: Set<InterfaceIdentity> = []
    ) -> (removed: String?, failed: String?) {
        let what = "name servers of tunnels that are gone, in \(path)"
        do throws(SystemError) {
            let isRemoved = try ResolvConfFile(path: path).remove { interface in
                let present = unsafe if_nametoindex(interface.name)
                return !kept.contains(interface) && present != interface.index
            }
            return (isRemoved ? what : nil, nil)
        } catch {
            return (nil, "\(what): \(error)")
        }
    }
}
