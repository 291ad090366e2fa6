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
    (/var/lib/tunneld). Without that file it does nothing; with one that can't be used it loads the same block, which is
    built in. tunneld takes the block over, and lifts it when it may.

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
    case .loaded(let early, let fault):
        let more = early.isEmpty ? "" : " Also on what is to come: \(early.joined(separator: ", "))."
        if let fault {
            Logger.process.warning(
                "\(path) can't be used: \(fault). Its presence says that traffic is to be blocked, so the block that is built "
                    + "in is in force: nothing passes outside of the tunnels.\(more) tunneld writes the file anew, and lifts the "
                    + "block where no configuration asks for it; `tunnelctl repair` lifts it without tunneld."
            )
        } else {
            Logger.process.notice("Traffic outside of the tunnels is blocked.\(more)")
        }
    }
} catch {
    Logger.process.error("Nothing is blocked, though \(path) asks for it: \(error)")
    exit(1)
}
