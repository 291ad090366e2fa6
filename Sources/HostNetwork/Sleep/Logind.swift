import LinuxSystem
import NetworkTypes
import SystemBus

/// logind, asked over the system bus.
///
/// Source: org.freedesktop.login1(5).
struct Logind: Sendable {
    static let name = "org.freedesktop.login1"
    static let path = "/org/freedesktop/login1"
    static let manager = "org.freedesktop.login1.Manager"
    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"
    /// logind's own default (logind.conf(5)), for one that doesn't say what it has.
    private static let standardDelay = Interval.seconds(5)
    private static let patience = Interval.seconds(10)

    let bus: SystemBus

    /// What is to be heard: the announcements, and that logind came or went.
    static let rules = [
        "type='signal',sender='\(name)',path='\(path)',interface='\(manager)',member='PrepareForSleep'",
        "type='signal',sender='\(busName)',path='\(busPath)',interface='\(busName)',member='NameOwnerChanged',"
            + "arg0='\(name)'",
    ]

    /// What a signal says to the decision; nil for one that it doesn't need.
    static func event(of signal: BusSignal) -> SleepDecision.Event? {
        switch (signal.interface, signal.member) {
        case (manager, "PrepareForSleep"):
            guard signal.path == path, case .boolean(let isBeginning)? = signal.arguments.first else { return nil }
            return .announced(by: signal.sender, isBeginning: isBeginning)
        case (busName, "NameOwnerChanged"):
            // The bus is the one sender whose name nobody can take.
            guard signal.sender == busName, signal.arguments.count == 3, signal.arguments[0] == .string(name),
                case .string(let owner) = signal.arguments[2]
            else { return nil }
            return .ownerChanged(owner.isEmpty ? nil : owner)
        default: return nil
        }
    }

    /// Who logind is and what it does; it isn't started for that.
    func survey() async -> Result<SleepDecision.Survey, BusError> {
        await bus.calls(within: Self.patience) { calls throws(BusError) in
            guard let owner = try Self.owner(calls) else {
                return SleepDecision.Survey(owner: nil, isSleeping: false, delay: Self.standardDelay)
            }
            return SleepDecision.Survey(
                owner: owner,
                isSleeping: try Self.property("PreparingForSleep", "b", of: owner, calls) {
                    value throws(BusError) in try value.boolean()
                } ?? false,
                delay: try Self.property("InhibitDelayMaxUSec", "t", of: owner, calls) {
                    value throws(BusError) in
                    Interval(nanoseconds: Int64(clamping: try value.uint64())) * 1000
                } ?? Self.standardDelay
            )
        }
    }

    /// Takes a lock that delays a sleep until the descriptor is closed, in all its duplicates.
    func inhibit() async -> Result<SharedDescriptor, BusError> {
        let inhibit = BusMethod("Inhibit", on: Self.manager, of: Self.name, at: Self.path)
        return await bus.call(inhibit, within: Self.patience) { arguments throws(BusError) in
            for text in ["sleep", "tunneld", "Tunnels are told before the machine sleeps.", "delay"] {
                try arguments.string(text)
            }
        } answer: { reply throws(BusError) in
            try reply.descriptor()
        }
    }

    private static func owner(_ calls: BusCalls) throws(BusError) -> String? {
        let getOwner = BusMethod("GetNameOwner", on: busName, of: busName, at: busPath)
        do throws(BusError) {
            return try calls.call(getOwner) { arguments throws(BusError) in
                try arguments.string(name)
            } answer: { reply throws(BusError) in
                try reply.string()
            }
        } catch {
            guard case .refused(let name, _) = error, name == "org.freedesktop.DBus.Error.NameHasNoOwner" else {
                throw error
            }
            return nil
        }
    }

    /// - Returns: nil where it has none of this name, as one that isn't systemd's may.
    private static func property<Value>(
        _ name: String,
        _ type: String,
        of owner: String,
        _ calls: BusCalls,
        _ read: (borrowing BusAnswer) throws(BusError) -> Value
    ) throws(BusError) -> Value? {
        do throws(BusError) {
            return try calls.property(name, type, on: manager, of: owner, at: path, read)
        } catch {
            guard case .refused = error else { throw error }
            return nil
        }
    }
}
