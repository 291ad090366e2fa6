package import NetworkTypes

/// What to do about the machine's sleep: every decision, without any effect.
///
/// Events come in, effects go out; whoever carries them out reports back by further events. logind announces a sleep
/// (PrepareForSleep) and then waits for those that hold a delay lock, but not for long: tunnels get that time to be told, or to
/// be stopped. While no tunnel runs there is no lock, no subscription, and nothing to wait for.
///
/// Source: "Inhibitor Locks", https://systemd.io/INHIBITOR_LOCKS; org.freedesktop.login1(5).
package struct SleepDecision: Equatable, Sendable {
    package enum Event: Equatable, Sendable {
        /// Whether at least one tunnel runs.
        case tunnels(running: Bool)
        /// Signals are heard from now on.
        case subscribed
        /// The bus is gone, or was never there.
        case busLost
        /// The name of logind has got another owner; nil: none.
        case ownerChanged(String?)
        /// Somebody sent PrepareForSleep.
        case announced(by: String, isBeginning: Bool)
        case surveyed(Int, Survey?)
        /// The lock was given, or refused.
        case inhibited(Int, Bool)
        /// Every tunnel was told, or the time for it is over.
        case prepared(Int)
        case retryDue(Int)
    }

    package enum Effect: Equatable, Sendable {
        case subscribe
        case unsubscribe
        /// Ask who logind is and what it does, and report `surveyed`.
        case survey(Int)
        /// Take a lock and report `inhibited`.
        case inhibit(Int)
        /// Hold the lock of this number, in place of any other.
        case hold(Int)
        /// Give back the lock of this number, which isn't held.
        case drop(Int)
        /// Give back the lock that is held.
        case release
        /// Tell the tunnels, and report `prepared`, after the limit at the latest.
        case prepare(Int, within: Interval)
        /// The machine woke up: tell the tunnels.
        case wake
        /// Report `retryDue` after this time, in place of any other retry.
        case retry(Int, after: Interval)
        /// Nothing is to be retried any more.
        case endRetry
        /// An operator should know it, once for each time that it begins.
        case warnOfNoLock
    }

    /// What logind answered.
    package struct Survey: Equatable, Sendable {
        /// The bus's unique name of it; nil: there is none.
        package var owner: String?
        /// Whether a sleep has been announced and isn't over.
        package var isSleeping: Bool
        /// How long it waits for locks at most (InhibitDelayMaxSec).
        package var delay: Interval

        package init(owner: String?, isSleeping: Bool, delay: Interval) {
            self.owner = owner
            self.isSleeping = isSleeping
            self.delay = delay
        }
    }

    private enum Phase: Equatable {
        case awake
        /// The tunnels are being told.
        case preparing(Int)
        case asleep
    }

    private enum Lock: Equatable {
        case none
        case asked(Int, isHolding: Bool)
        case held
    }

    /// What is known of logind.
    private enum Service: Equatable {
        case unknown
        /// `heard`: what was announced meanwhile, to be judged once it is known who logind is.
        case asked(Int, heard: [Announcement])
        case absent
        case present(owner: String)
    }

    private struct Announcement: Equatable {
        let sender: String
        let isBeginning: Bool
    }

    /// The most that tunnels get, far below what logind waits by itself (5 s): whoever hangs shall spoil no sleep.
    package static let longestPreparation = Interval.seconds(3)
    /// Of the time that logind waits, if that is set to less.
    private static let share = 0.6
    /// Announcements that wait for it to be known who logind is; strangers may send any number.
    private static let heardLimit = 16
    /// How long to wait after each failure; after the last it is left until a tunnel starts or logind comes anew.
    package static let pauses: [Interval] = [.seconds(2), .seconds(10), .seconds(60), .seconds(300)]

    private var isRunning = false
    private var isSubscribed = false
    /// Whether the bus lets us hear.
    private var isHearing = false
    private var phase = Phase.awake
    private var lock = Lock.none
    private var service = Service.unknown
    private var delay = Interval.seconds(5)
    private var failures = 0
    private var lastNumber = 0
    private var retry = 0

    package init() {}

    package mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .tunnels(let running): return tunnels(running)
        case .subscribed: return subscribed()
        case .busLost: return busLost()
        case .ownerChanged(let owner): return ownerChanged(owner)
        case .announced(let sender, let isBeginning):
            return announced(Announcement(sender: sender, isBeginning: isBeginning))
        case .surveyed(let number, let survey): return surveyed(number, survey)
        case .inhibited(let number, let isGiven): return inhibited(number, isGiven)
        case .prepared(let number): return prepared(number)
        case .retryDue(let number): return retryDue(number)
        }
    }

    // MARK: Tunnels

    private mutating func tunnels(_ running: Bool) -> [Effect] {
        isRunning = running
        guard running else { return settle() }
        // Whoever starts a tunnel may have mended what was in the way.
        failures = 0
        isSubscribed = true
        guard isHearing else { return [.subscribe] }
        return endRetry() + (service == .unknown ? survey() : settle())
    }

    /// Takes or gives back the lock, as it is needed now.
    private mutating func settle() -> [Effect] {
        guard phase == .awake else { return [] }
        guard isRunning else { return letGo() }
        guard case .present = service, lock == .none, retry == 0 else { return [] }
        return inhibit(isHolding: false)
    }

    private mutating func letGo() -> [Effect] {
        guard isSubscribed else { return [] }
        isSubscribed = false
        isHearing = false
        service = .unknown
        return giveBack() + endRetry() + [.unsubscribe]
    }

    private mutating func inhibit(isHolding: Bool) -> [Effect] {
        let number = nextNumber()
        lock = .asked(number, isHolding: isHolding)
        return [.inhibit(number)]
    }

    private mutating func giveBack() -> [Effect] {
        defer { lock = .none }
        return switch lock {
        case .none, .asked(_, isHolding: false): []
        case .held, .asked(_, isHolding: true): [.release]
        }
    }

    // MARK: logind

    private mutating func subscribed() -> [Effect] {
        guard isSubscribed else { return [] }
        isHearing = true
        return survey()
    }

    private mutating func survey() -> [Effect] {
        let number = nextNumber()
        service = .asked(number, heard: [])
        return [.survey(number)]
    }

    /// A lock that is held stays so: it is a pipe to logind, not to the bus.
    private mutating func busLost() -> [Effect] {
        isHearing = false
        service = .unknown
        if case .asked(_, let isHolding) = lock { lock = isHolding ? .held : .none }
        return endRetry()
    }

    private mutating func ownerChanged(_ owner: String?) -> [Effect] {
        guard isHearing else { return [] }
        guard owner != nil else {
            service = .absent
            return endRetry()
        }
        failures = 0
        // What was announced meanwhile nobody has heard.
        return endRetry() + survey()
    }

    private mutating func surveyed(_ number: Int, _ survey: Survey?) -> [Effect] {
        guard case .asked(number, let heard) = service else { return [] }
        guard let survey else {
            service = .unknown
            return failed()
        }
        guard let owner = survey.owner else {
            service = .absent
            return endRetry()
        }
        service = .present(owner: owner)
        delay = survey.delay
        var effects = endRetry()
        if let last = heard.last(where: { $0.sender == owner }) {
            effects += announced(last)
        } else if survey.isSleeping != (phase != .awake) {
            effects += survey.isSleeping ? beginSleep() : endSleep()
        }
        guard phase == .awake else { return effects }
        // One that was given by a logind before this may mean nothing to it.
        if lock == .held { return effects + inhibit(isHolding: true) }
        return effects + settle()
    }

    private mutating func inhibited(_ number: Int, _ isGiven: Bool) -> [Effect] {
        guard case .asked(number, let isHolding) = lock else { return isGiven ? [.drop(number)] : [] }
        guard isGiven else {
            lock = isHolding ? .held : .none
            return failed()
        }
        failures = 0
        // Where a sleep has been announced meanwhile, it is held until the tunnels were told.
        guard phase != .asleep, isRunning || phase != .awake else {
            lock = .none
            return [.drop(number)] + (isHolding ? [.release] : [])
        }
        lock = .held
        return [.hold(number)]
    }

    private mutating func failed() -> [Effect] {
        failures += 1
        let warning: [Effect] = failures == 1 ? [.warnOfNoLock] : []
        guard failures <= Self.pauses.count else { return warning }
        retry = nextNumber()
        return warning + [.retry(retry, after: Self.pauses[failures - 1])]
    }

    private mutating func retryDue(_ number: Int) -> [Effect] {
        guard number == retry else { return [] }
        retry = 0
        guard isHearing else { return [] }
        return service == .unknown ? survey() : settle()
    }

    private mutating func endRetry() -> [Effect] {
        guard retry != 0 else { return [] }
        retry = 0
        return [.endRetry]
    }

    // MARK: Sleep

    /// Anybody may send a signal to us; logind's own are believed.
    private mutating func announced(_ announcement: Announcement) -> [Effect] {
        switch service {
        case .asked(let number, let heard):
            service = .asked(number, heard: heard.suffix(Self.heardLimit - 1) + [announcement])
            return []
        case .present(announcement.sender): return announcement.isBeginning ? beginSleep() : endSleep()
        case .present, .absent, .unknown: return []
        }
    }

    private mutating func beginSleep() -> [Effect] {
        if case .preparing = phase { return [] }
        let number = nextNumber()
        phase = .preparing(number)
        let limit = Interval(nanoseconds: Int64(Double(delay.nanoseconds) * Self.share))
        return [.prepare(number, within: min(Self.longestPreparation, limit))]
    }

    private mutating func prepared(_ number: Int) -> [Effect] {
        guard phase == .preparing(number) else { return [] }
        phase = .asleep
        return giveBack()
    }

    private mutating func endSleep() -> [Effect] {
        phase = .awake
        return [.wake] + settle()
    }

    private mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }
}
