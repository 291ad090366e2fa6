import Glibc
import NetworkTypes
import SystemBus

/// Who is behind a name on the bus.
enum BusPeer {
    /// Whether a service runs, and in our network namespace: elsewhere its links are others of the same numbers.
    ///
    /// The service isn't started for it.
    static func isHere(_ service: String, _ bus: SystemBus, within limit: Interval) async -> Bool {
        let method = BusMethod(
            "GetConnectionUnixProcessID",
            on: "org.freedesktop.DBus",
            of: "org.freedesktop.DBus",
            at: "/org/freedesktop/DBus"
        )
        let answer = await bus.call(method, within: limit) { arguments throws(BusError) in
            try arguments.string(service)
        } answer: { answer throws(BusError) in
            try answer.uint32()
        }
        guard case .success(let process) = answer else { return false }
        return sharesNetwork(withProcess: process)
    }

    /// Whether a process is in our network namespace; assumed of one that can't be looked at.
    static func sharesNetwork(withProcess process: UInt32) -> Bool {
        var other = stat()
        var own = stat()
        guard unsafe stat("/proc/\(process)/ns/net", &other) == 0,
            unsafe stat("/proc/thread-self/ns/net", &own) == 0
        else { return true }
        return other.st_dev == own.st_dev && other.st_ino == own.st_ino
    }
}
