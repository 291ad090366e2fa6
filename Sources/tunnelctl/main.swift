import CommandLineTool
import Glibc
import LinuxSystem

// A closed output is told by the write that fails, and ends the program in order.
StandardDescriptors.secure()
CrashSignals.endAtOnce()
// Secrets pass through this process, too; where it can't be had, the command is done all the same.
try? OwnProcess.makeUndumpable()
let tool = CommandLineTool(
    CommandLineTool.Surroundings(
        input: STDIN_FILENO,
        output: DescriptorSink(STDOUT_FILENO),
        errors: DescriptorSink(STDERR_FILENO),
        outputIsTerminal: isatty(STDOUT_FILENO) == 1,
        environment: { @Sendable name in unsafe getenv(name).map { unsafe String(cString: $0) } },
        interruptions: { @Sendable in Interruptions.stream() }
    )
)
// `CommandLine.arguments` would put replacement characters for what isn't UTF-8, and so name another file.
let words = unsafe (1..<max(1, Int(CommandLine.argc))).compactMap { unsafe CommandLine.unsafeArgv[$0] }.map {
    unsafe Array(UnsafeRawBufferPointer(start: $0, count: strlen($0)))
}
exit(await tool.run(words).rawValue)
