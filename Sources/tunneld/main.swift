import ControlDaemon
import FoundationEssentials

DaemonProgram.main(CommandLine.arguments, environment: ProcessInfo.processInfo.environment)
