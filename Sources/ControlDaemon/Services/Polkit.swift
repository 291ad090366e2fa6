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
        let answer = await bus.call(Self.checkAuthorization, within: limit) { question throws(BusError) in
            try Self.write(permission, about: caller, isInteractive: isInteractive, to: question)
        } answer: { reply throws(BusError) in
            try reply.structure("bba{ss}", Self.answer)
        }
        switch answer {
        case .success(let answer): return answer
        case .failure(let error):
            if isInteractive, error == .timedOut { return .needsAuthentication }
            log.debug("polkit can't be asked about \(permission), so the group tunneld decides: \(error)")
            return .absent
        }
    }

    private static let checkAuthorization = BusMethod(
        "CheckAuthorization",
        on: "\(name).Authority",
        of: name,
        at: "/org/freedesktop/PolicyKit1/Authority"
    )

    /// A question about a process, by its number, its start and its user, so that no later process of the same number can
    /// answer for it ("(sa{sv})sa{ss}us").
    private static func write(
        _ permission: String,
        about caller: Caller,
        isInteractive: Bool,
        to question: borrowing BusArguments
    ) throws(BusError) {
        let startTime = ProcessIdentity(reading: caller.process)?.startTime ?? 0
        try question.structure("sa{sv}") { subject throws(BusError) in
            try subject.string("unix-process")
            try subject.array("{sv}") { details throws(BusError) in
                try details.entry("pid", "u") { value throws(BusError) in
                    try value.uint32(UInt32(bitPattern: caller.process))
                }
                try details.entry("start-time", "t") { value throws(BusError) in try value.uint64(startTime) }
                try details.entry("uid", "i") { value throws(BusError) in
                    try value.int32(Int32(bitPattern: caller.user))
                }
            }
        }
        try question.string(permission)
        try question.array("{ss}")
        try question.uint32(isInteractive ? allowsInteraction : 0)
        try question.string("")
    }

    /// Whether the caller is authorized, or could be after an authentication.
    private static func answer(_ result: borrowing BusAnswer) throws(BusError) -> Authority.Answer {
        let isAuthorized = try result.boolean()
        let isChallenge = try result.boolean()
        return isAuthorized ? .yes : isChallenge ? .needsAuthentication : .no
    }
}
