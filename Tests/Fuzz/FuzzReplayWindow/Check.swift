import WireGuardCore

/// Compares the replay window with a set of all that was taken.
func checkReplayWindow(_ bytes: [UInt8]) {
    var window = ReplayWindow()
    var taken: Set<UInt64> = []
    var greatest: UInt64 = 0
    var rest = bytes[...]
    while let step = rest.popFirst() {
        let low = UInt64(rest.popFirst() ?? 0)
        let number = low << UInt64(step & 63)
        let counter =
            switch step >> 6 {
            case 0: greatest &+ number
            case 1: greatest &- number
            case 2: number
            default: UInt64.max - number
            }
        let isGood =
            counter < MessageLimits.rejectAfter && !taken.contains(counter)
            && (counter > greatest || greatest - counter < ReplayWindow.size)
        let isAccepted = window.accept(counter)
        precondition(isAccepted == isGood, "the window judges otherwise than a list")
        guard isAccepted else { continue }
        taken.insert(counter)
        greatest = max(greatest, counter)
    }
}
