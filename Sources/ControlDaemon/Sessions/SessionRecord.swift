import ControlAPI
import HostNetwork
import LinuxSystem

/// What the next tunneld must know of a session, to go on with it or to undo it: `journal/ID.json`.
///
/// Each fact is written before the change that it describes.
struct SessionRecord: Codable, Sendable {
    static let version = 1

    var version = SessionRecord.version
    var session: String
    /// The configuration that runs, with references in place of secrets.
    var configuration: Configuration
    var nonce: String
    /// The start of the machine or the container in which it began, as `BootMark` has it.
    var boot: String?
    /// When the session began.
    var started: Timestamp
    /// The status last told, and since when.
    var status: TunnelStatus
    var since: Timestamp
    /// Why the session is to end, once it is.
    var ending: Ending?

    var process: Process?
    /// The user that the provider runs as, known before the process.
    var user: UInt32?
    var interface: String?
    /// When the interface was made: the counters' epoch.
    var interfaceSince: Timestamp?
    var network = NetworkJournal()
    var settings: NetworkSettingsDocument?
    var applied: AppliedNetwork?
    /// Those with which the settings were put in force, names resolved; nil before.
    var endpoints: [String]?
    var listenPort: Int?
    var wgSocket: FileRecord?
    var notes: [String] = []
    /// That somebody gave the interface another name, the last time, in sentences.
    var renaming: String?
    /// A newer configuration that is stored and isn't in force; nil where there is none.
    var notInForce: NotInForceView?
    /// Providers that were lost and replaced; nil where none was.
    var providerLosses: ProviderLossesView?

    struct Ending: Codable, Equatable, Sendable {
        /// Nil: it was stopped.
        var error: ControlError?
        var reason: String?

        /// Whether nobody who uses the tunnel asked for it: it failed, or the machine went to sleep.
        var isUnasked: Bool { error != nil || reason == Tunnel.wentToSleep }
    }

    struct Process: Codable, Equatable, Sendable {
        var pid: Int32
        var startTime: UInt64

        init(_ identity: ProcessIdentity) {
            pid = identity.pid
            startTime = identity.startTime
        }

        var identity: ProcessIdentity { ProcessIdentity(pid: pid, startTime: startTime) }
    }

    init(session: String, configuration: Configuration, nonce: String, now: Timestamp) {
        self.session = session
        self.configuration = configuration
        self.nonce = nonce
        boot = BootMark.present()
        started = now
        status = .connecting
        since = now
    }

    /// Whether it began since the machine, or the container, was started: else it ended with that.
    var isOfThisBoot: Bool { boot == nil || boot == BootMark.present() }
}
