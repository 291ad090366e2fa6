import Journal
import LinuxSystem
import NetworkTypes
import SystemBus

/// polkit, asked over the system bus; where it doesn't answer in time, it is as if there were none.
struct Polkit: Sendable {
    /// For an answer that nobody has to type a password for.
    static let patience = Interval.seconds(3)
    /// For one that somebody may have to: below a client's own patience.
    static let patienceWithPerson = Interval.seconds(45)

    private static let name = "org.freedesktop.PolicyKit1"
    private static let allowsInteraction: UInt32 = 1

    let bus: SystemBus
    let log: Logger

    var authority: Authority { Authority { await ask($0, $1, isInteractive: $2) } }

    private func ask(_ permission: String, _ caller: Caller, isInteractive: Bool) async -> Authority.Answer {
        let limit = isInteractive ? Self.patienceWithPerson : Self.patience
        switch await bus.call(Self.question(permission, caller, isInteractive: isInteractive), within: limit) {
        case .success(let reply):
            guard let answer = Self.answer(reply) else {
                log.warning("polkit's answer about \(permission) can't be read; the group tunneld decides.")
                return .absent
            }
            return answer
        case .failure(let error):
            if isInteractive, error == .timedOut { return .needsAuthentication }
            log.debug("polkit can't be asked about \(permission), so the group tunneld decides: \(error)")
            return .absent
        }
    }

    /// `CheckAuthorization` about a process, by its number, its start and its user, so that no later process of the same
    /// number can answer for it.
    static func question(_ permission: String, _ caller: Caller, isInteractive: Bool) -> BusMessage {
        var body = BusWriter()
        body.structure { subject in
            subject.string("unix-process")
            subject.array(alignment: 8) { details in
                details.structure {
                    $0.string("pid")
                    $0.signature("u")
                    $0.uint32(UInt32(bitPattern: caller.process))
                }
                details.structure {
                    $0.string("start-time")
                    $0.signature("t")
                    $0.uint64(ProcessIdentity(reading: caller.process)?.startTime ?? 0)
                }
                details.structure {
                    $0.string("uid")
                    $0.signature("i")
                    $0.int32(Int32(bitPattern: caller.user))
                }
            }
        }
        body.string(permission)
        body.array(alignment: 8) { _ in }
        body.uint32(isInteractive ? Self.allowsInteraction : 0)
        body.string("")
        return .call(
            "CheckAuthorization",
            on: "\(name).Authority",
            of: name,
            at: "/org/freedesktop/PolicyKit1/Authority",
            signature: "(sa{sv})sa{ss}us",
            body: body.bytes
        )
    }

    /// Whether the caller is authorized, or could be after an authentication; nil where that isn't what was answered.
    static func answer(_ reply: BusMessage) -> Authority.Answer? {
        guard reply.signature == "(bba{ss})" else { return nil }
        var reader = BusReader(reply.body, isBigEndian: reply.isBigEndian)
        guard let isAuthorized = try? reader.boolean(), let isChallenge = try? reader.boolean() else { return nil }
        return isAuthorized ? .yes : isChallenge ? .needsAuthentication : .no
    }
}
