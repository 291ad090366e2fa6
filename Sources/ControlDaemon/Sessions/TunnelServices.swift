import ControlAPI
import Journal
import Keychain
import LinuxSystem
import NetworkTypes

/// What all tunnels share.
package struct TunnelServices: Sendable {
    let launcher: any ProviderLauncher
    let network: any TunnelNetwork
    let block: any TunnelBlock
    let keychain: Keychain
    let store: ConfigurationStore
    let catalogue: ProviderCatalogue
    let journal: SessionJournal
    let timestamps: TimestampStore
    let lastErrors: LastErrorStore
    let hub: EventHub
    /// Higher than that of every tunneld before.
    let epoch: UInt64
    let startTimeout: Interval
    /// Where the `wg` sockets are.
    let wgFolder: String
    let log: Logger
    let running = RunningTunnels()

    var memory: SessionMemory { SessionMemory(folder: journal.folder, keychain: keychain) }
}

extension Timestamp {
    /// Now, by the wall clock.
    static func now() -> Timestamp {
        let time = WallClockTime.now()
        return Timestamp(milliseconds: time.seconds * 1000 + Int64(time.nanoseconds) / 1_000_000)
    }
}
