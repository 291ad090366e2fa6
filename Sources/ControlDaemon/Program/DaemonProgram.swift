import ControlAPI
import Dispatch
import EventLoop
import FoundationEssentials
import Glibc
import HostNetwork
import Journal
import Keychain
import LinuxSystem

/// The program tunneld: arguments, what the process needs, start and end.
package enum DaemonProgram {
    /// Runs until a signal; doesn't return.
    ///
    /// - Parameter arguments: with the program's name.
    package static func main(_ arguments: [String], environment: [String: String]) -> Never {
        switch DaemonOptions.parse(Array(arguments.dropFirst())) {
        case .help:
            write(DaemonOptions.usage, to: STDOUT_FILENO)
            exit(0)
        case .version:
            write("tunneld \(ProductVersion.version)\n", to: STDOUT_FILENO)
            exit(0)
        case .wrong(let fault):
            write("tunneld: \(fault)\n\(DaemonOptions.usage)", to: STDERR_FILENO)
            exit(2)
        case .run(var options):
            options.busAddress = environment["DBUS_SYSTEM_BUS_ADDRESS"]
            options.programPath = environment["PATH"]
            let current = FileManager.default.currentDirectoryPath
            run(options, DaemonDirectories(environment: environment, current: current))
        }
    }

    private static func run(_ options: DaemonOptions, _ directories: DaemonDirectories) -> Never {
        QuietTasks.install()
        ResidentMemory.returnFreedBlocks()
        StandardDescriptors.secure()
        CrashSignals.endAtOnce()
        let log = Logger.process
        log.output.setLevel(options.logLevel)
        umask(0o077)
        do throws(ControlError) {
            try checkPrivileges()
        } catch {
            fail(error)
        }
        do { try OwnProcess.makeUndumpable() } catch { log.warning("The process can be dumped, going on: \(error)") }
        Keychain.wipeFreedMemory()
        DescriptorLimit.raise()
        let end = EndSignals()
        Task {
            do {
                let daemon = try await Daemon.start(options, directories, log: log)
                log.notice("tunneld \(ProductVersion.version) is ready on \(directories.controlSocket).")
                ServiceNotifier.process.ready(status: "Ready.")
                // Much of the program and its libraries is for the start alone. What can't be released stays.
                try? ResidentMemory.releaseFilePages()
                let name = await end.wait()
                log.notice("Got \(name); the providers go on.")
                ServiceNotifier.process.stopping()
                await daemon.stop()
                exit(0)
            } catch let error as ControlError {
                fail(error)
            } catch {
                fail(ControlError(.internalError, "tunneld can't start.", reason: "\(error)"))
            }
        }
        dispatchMain()
    }

    private static func checkPrivileges() throws(ControlError) {
        guard geteuid() == 0, MachineFacts.threadHasNetworkCapability() else {
            throw ControlError(
                .permissionDenied,
                "tunneld can't do its work as this user.",
                reason: geteuid() == 0
                    ? "The capability CAP_NET_ADMIN is missing."
                    : "The user id is \(geteuid()), not 0.",
                remedy: "Run it as root (sudo tunneld); in a container with --cap-add NET_ADMIN --device /dev/net/tun."
            )
        }
    }

    /// What failed, why, and what to do, a line each; then the end.
    private static func fail(_ error: ControlError) -> Never {
        let sentences = [error.message, error.reason, error.remedy].compactMap(\.self)
        Logger.process.error(sentences.map { $0.hasSuffix(".") ? $0 : $0 + "." }.joined(separator: " "))
        exit(1)
    }

    private static func write(_ text: String, to descriptor: Int32) {
        try? unsafe AtomicFile.writeAll(Array(text.utf8).span.bytes, to: descriptor)
    }
}

/// The signals that end tunneld.
private final class EndSignals: @unchecked Sendable {  // Nothing changes after `init`.
    private let sources: [any DispatchSourceSignal]
    private let stream: AsyncStream<String>

    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        self.stream = stream
        // A source without a queue would go to a global one.
        let queue = DispatchQueue(label: "signals")
        sources = [(SIGTERM, "SIGTERM"), (SIGINT, "SIGINT")].map { number, name in
            _ = signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { @Sendable in continuation.yield(name) }
            source.activate()
            return source
        }
    }

    /// The name of the first that comes.
    func wait() async -> String { await stream.first { _ in true } ?? "no signal" }
}
