import CShims
import LinuxSystem

extension NetlinkRequest {
    /// Stops here where tests want it so, unless nothing is changed by the request.
    ///
    /// - Throws: EIO, as from the kernel.
    func reachFaultPoint() throws(NetlinkError) {
        guard FaultPoint.isArmed, let effect else { return }
        do throws(SystemError) {
            try FaultPoint.reach(effect)
        } catch {
            throw .refused(code: error.code, text: error.call)
        }
    }

    /// What is done to what; nil for a question.
    ///
    /// Types come in fours: new, delete, get, set (linux/rtnetlink.h).
    private var effect: String? {
        let verbs = ["add", "remove", nil, "set"]
        guard let verb = verbs[Int(type & 3)] else { return nil }
        let objects = [RTM_NEWLINK: "link", RTM_NEWADDR: "address", RTM_NEWROUTE: "route", RTM_NEWRULE: "rule"]
        let first = Int(type & ~3)
        return "\(objects.first { Int($0.key) == first }?.value ?? "netlink \(first)") \(verb)"
    }
}
