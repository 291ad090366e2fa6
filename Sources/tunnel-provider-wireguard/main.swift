import Glibc
import ProviderRuntime
import WireGuardProvider

exit(ProviderProgram.main(Array(CommandLine.arguments.dropFirst()), as: WireGuardTunnel.self))
