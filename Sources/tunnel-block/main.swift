import FoundationEssentials
import Glibc
import HostNetwork
import Journal
import LinuxSystem

// Blocks traffic outside of the tunnels at boot, before any network is up, for configurations with `persistentBlock`.
// Needs no tunneld and writes nothing; ends at once.

let usage = """
    Usage: tunnel-block
    Loads the block that tunneld keeps for configurations with persistentBlock: block.nft in STATE_DIRECTORY
    (/var/lib/tunneld). Without that file it does nothing. tunneld takes the block over, and lifts it when it may.

    """

guard CommandLine.arguments.count == 1 else {
    print(usage, terminator: "")
    exit(CommandLine.arguments == [CommandLine.arguments[0], "--help"] ? 0 : 2)
}
// systemd separates several by colons; the first is tunneld's.
let state = ProcessInfo.processInfo.environment["STATE_DIRECTORY"]?.split(separator: ":").first.map(String.init)
let path = BootBlock.path(inState: state ?? "/var/lib/tunneld")
do {
    switch try BootBlock.load(path) {
    case .notWanted: Logger.process.notice("No configuration asks for a block at boot.")
    case .alreadyInForce: Logger.process.notice("Traffic outside of the tunnels is blocked already.")
    case .loaded(let early):
        let more = early.isEmpty ? "" : " Also on what is to come: \(early.joined(separator: ", "))."
        Logger.process.notice("Traffic outside of the tunnels is blocked.\(more)")
    }
} catch {
    Logger.process.error("\(path) can't be loaded, so nothing is blocked: \(error)")
    exit(1)
}
