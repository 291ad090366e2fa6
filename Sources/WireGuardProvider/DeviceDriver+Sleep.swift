import WireGuardCore

/// What a sleep of the machine does to the device.
extension DeviceDriver {
    /// The machine is about to sleep.
    func sleep() { core.sleep() }

    /// The machine has woken up: keys past their limit go, peers are called, and their names looked up again.
    func wake() {
        for peer in peers.values { peer.search?.refresh() }
        step { [peers] core, moment, actions in
            core.wake(at: moment, samples: { peers[$0]?.watch.sample ?? TrafficSample() }, actions: &actions)
        }
    }
}
