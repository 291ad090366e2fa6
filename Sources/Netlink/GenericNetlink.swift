import CShims
import Glibc

/// The kernel's other interfaces, each under a name whose number it gives at run time.
///
/// Source: Documentation/userspace-api/netlink/intro.rst, "Generic Netlink".
package struct GenericNetlink: Sendable {
    private let socket: any NetlinkSocket

    /// - Throws: `socket` when the process may not open one.
    package init() throws(NetlinkError) { self.init(socket: try RouteSocket(NETLINK_GENERIC)) }

    package init(socket: any NetlinkSocket) { self.socket = socket }

    /// The number of an interface; nil where the kernel doesn't have it (now).
    package func family(named name: String) throws(NetlinkError) -> UInt16? {
        try attributes(of: name)?.number(CTRL_ATTR_FAMILY_ID)
    }

    /// The number of a group of listeners of an interface; nil where the kernel has neither.
    package func group(named name: String, of family: String) throws(NetlinkError) -> UInt32? {
        guard let groups = try attributes(of: family)?.nested(CTRL_ATTR_MCAST_GROUPS) else { return nil }
        for (_, bytes) in groups.all {
            let group = try NetlinkAttributes(bytes)
            if group.string(CTRL_ATTR_MCAST_GRP_NAME) == name { return group.number(CTRL_ATTR_MCAST_GRP_ID) }
        }
        return nil
    }

    private func attributes(of name: String) throws(NetlinkError) -> NetlinkAttributes? {
        let request = NetlinkRequest(GENL_ID_CTRL) {
            $0.header(genlmsghdr(cmd: UInt8(CTRL_CMD_GETFAMILY), version: 1, reserved: 0))
            $0.put(CTRL_ATTR_FAMILY_NAME, string: name)
        }
        do throws(NetlinkError) {
            guard let answer = try socket.request(request).first else { return nil }
            return try answer.read(genlmsghdr.self).attributes
        } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
    }

    /// All that the interface's command lists: the attributes of each.
    ///
    /// - Parameter attributes: writes what the list is asked for.
    package func dump(
        _ family: UInt16,
        _ command: some BinaryInteger,
        _ attributes: (inout NetlinkWriter) -> Void = { _ in }
    ) throws(NetlinkError) -> [NetlinkAttributes] {
        let request = NetlinkRequest(family) {
            $0.header(genlmsghdr(cmd: UInt8(command), version: 0, reserved: 0))
            attributes(&$0)
        }
        return try socket.dump(request).map { (message) throws(NetlinkError) in
            try message.read(genlmsghdr.self).attributes
        }
    }
}
