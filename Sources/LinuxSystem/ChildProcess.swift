import CShims
import Glibc

/// A program to start without any privilege, in a session of its own, so that it outlives us.
///
/// The child runs as `user` with a group of the same number and no other group, with empty capability sets (the bounding
/// one included), with no-new-privs, without core dumps, and with no descriptor beyond 0, 1 and 2. Needs CAP_SETUID,
/// CAP_SETGID and CAP_SETPCAP.
package struct ChildProcess: Sendable {
    /// Absolute path of the program.
    package var program: String
    /// Without the program's name.
    package var arguments: [String]
    /// The whole environment: nothing is inherited.
    package var environment: [String: String]
    /// The working directory; entered before the user changes, so the folders above it may be closed to the user.
    package var directory: String
    package var user: UInt32
    /// Descriptors that become 0, 1 and 2; nil: `/dev/null` for 0, our own for 1 and 2.
    package var input: SharedDescriptor?
    package var output: SharedDescriptor?
    package var error: SharedDescriptor?

    package init(
        program: String,
        arguments: [String] = [],
        environment: [String: String] = [:],
        directory: String = "/",
        user: UInt32
    ) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
        self.user = user
    }

    /// Starts it, and returns once the program was executed.
    ///
    /// A program that is being written is tried again for a while: its writer, or a child of the writer's between fork
    /// and exec, has it open for a moment.
    ///
    /// - Throws: the step that failed and its errno.
    package func start() throws(SpawnError) -> ProcessDescriptor {
        for attempt in 1... {
            do throws(SpawnError) {
                return try startOnce()
            } catch {
                guard error == SpawnError(.execute, ETXTBSY), attempt < Self.attempts else { throw error }
                usleep(10_000)
            }
        }
        throw SpawnError(.execute, ETXTBSY)
    }

    private static let attempts = 50

    private func startOnce() throws(SpawnError) -> ProcessDescriptor {
        do throws(SystemError) {
            try FaultPoint.reach("start \(program)")
        } catch {
            throw SpawnError(.execute, error.code)
        }
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { throw SpawnError(.descriptors, errno) }
        let nullDescriptor = OwnedDescriptor(adopting: null)
        var pidfd: Int32 = -1
        var step: Int32 = 0
        let variables = environment.map { "\($0.key)=\($0.value)" }.sorted()
        let pid: Int32 = unsafe withCStrings([program] + arguments) { arguments in
            unsafe withCStrings(variables) { environment in
                unsafe program.withCString { path in
                    unsafe directory.withCString { directory in
                        var request = unsafe shim_spawn_request(
                            path: path,
                            arguments: arguments,
                            environment: environment,
                            directory: directory,
                            input: input?.raw ?? nullDescriptor.raw,
                            output: output?.raw ?? 1,
                            error: error?.raw ?? 2,
                            user: user
                        )
                        return unsafe shim_spawn(&request, &pidfd, &step)
                    }
                }
            }
        }
        guard pid > 0 else { throw SpawnError(SpawnError.Step(rawValue: UInt32(bitPattern: step)), -pid) }
        return ProcessDescriptor(pid: pid, adopting: OwnedDescriptor(adopting: pidfd))
    }
}

/// A pipe, to read what a child prints.
package enum Pipe {
    package static func make() throws(SystemError) -> (reader: SharedDescriptor, writer: SharedDescriptor) {
        var ends: [Int32] = [-1, -1]
        try checkShim("pipe2") { unsafe shim_pipe(&ends) }
        return (
            SharedDescriptor(OwnedDescriptor(adopting: ends[0])), SharedDescriptor(OwnedDescriptor(adopting: ends[1]))
        )
    }
}

/// A start of a child that failed.
package struct SpawnError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Step: Sendable {
        case fork, session, descriptors, directory, limits, groups, capabilities, user, noNewPrivileges, execute

        init(rawValue: UInt32) {
            self =
                switch shim_spawn_step(rawValue: rawValue) {
                case SHIM_SPAWN_SESSION: .session
                case SHIM_SPAWN_DESCRIPTORS: .descriptors
                case SHIM_SPAWN_DIRECTORY: .directory
                case SHIM_SPAWN_LIMITS: .limits
                case SHIM_SPAWN_GROUPS: .groups
                case SHIM_SPAWN_CAPABILITIES: .capabilities
                case SHIM_SPAWN_USER: .user
                case SHIM_SPAWN_NO_NEW_PRIVILEGES: .noNewPrivileges
                case SHIM_SPAWN_EXECUTE: .execute
                default: .fork
                }
        }

        var call: String {
            switch self {
            case .fork: "fork"
            case .session: "setsid"
            case .descriptors: "dup3"
            case .directory: "chdir"
            case .limits: "setrlimit(RLIMIT_CORE)"
            case .groups: "setgroups"
            case .capabilities: "capset"
            case .user: "setresuid"
            case .noNewPrivileges: "prctl(PR_SET_NO_NEW_PRIVS)"
            case .execute: "execve"
            }
        }
    }

    package let step: Step
    /// errno(3), positive.
    package let code: Int32

    package init(_ step: Step, _ code: Int32) {
        self.step = step
        self.code = code
    }

    package var description: String { SystemError(code, call: step.call).description }
}

/// The texts as the array of C strings, ended by NULL, that execve(2) takes.
private func withCStrings<R>(_ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> R) -> R {
    let copies = unsafe texts.map { unsafe strdup($0) }
    defer { unsafe copies.forEach { unsafe free($0) } }
    return unsafe (copies + [nil]).withUnsafeBufferPointer { pointers in
        guard let base = pointers.baseAddress else { preconditionFailure("an array of at least one element") }
        return unsafe body(base)
    }
}
