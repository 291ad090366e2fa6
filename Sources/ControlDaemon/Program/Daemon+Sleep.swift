import HostNetwork
import Journal
import SystemBus

extension Daemon {
    /// Has tunnels told of the machine's sleep, while any runs.
    static func watchSleep(_ tunnels: Tunnels, _ running: RunningTunnels, _ bus: SystemBus, _ log: Logger) -> SleepWatch
    {
        let watch = SleepWatch(
            bus: bus,
            log: log,
            prepare: { await tunnels.prepareForSleep() },
            wake: { await tunnels.wake() }
        )
        running.observe { watch.tunnelsChanged(areRunning: $0) }
        return watch
    }
}
