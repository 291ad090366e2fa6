import EventLoop
import Glibc
import ProviderRuntime
import WireGuardProvider

QuietTasks.install()
LockedKeys.install()
exit(ProviderProgram.main(Array(CommandLine.arguments.dropFirst()), as: WireGuardTunnel.self))
