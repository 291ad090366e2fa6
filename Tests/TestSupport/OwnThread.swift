import CTestSupport

/// Runs a test's body on a thread of its own, which may be spoilt: `OwnThread` has what to spoil it with.
///
/// - Throws: what the body throws.
package func onOwnThread(_ body: @escaping () throws -> Void) throws {
    let job = Job(body)
    let result = unsafe test_on_thread(
        { unsafe Unmanaged<Job>.fromOpaque($0).takeUnretainedValue().run() },
        Unmanaged.passUnretained(job).toOpaque()
    )
    guard result == 0 else { throw OwnThread.Failure.refused("pthread_create", -result) }
    try job.result.get()
}

/// What may be done to the thread of `onOwnThread`, and to no other.
package enum OwnThread {
    package enum Failure: Error {
        /// A call and its errno.
        case refused(String, Int32)
        /// A command and its exit code.
        case command(String, Int32)
    }

    /// Gives the thread a network namespace of its own, with nothing in it; needs root.
    package static func unshareNetwork() throws {
        let result = test_unshare_network()
        guard result == 0 else { throw Failure.refused("unshare: run the tests as root", -result) }
    }

    /// Makes system calls of the thread fail with an errno from now on.
    package static func refuse(_ numbers: [Int], with code: Int32) throws {
        let result = unsafe test_refuse_calls(numbers, numbers.count, code)
        guard result == 0 else { throw Failure.refused("prctl(PR_SET_SECCOMP)", -result) }
    }

    /// Runs a shell command in the thread's network namespace.
    package static func run(_ command: String) throws {
        let code = unsafe test_run(command)
        guard code == 0 else { throw Failure.command(command, code) }
    }
}

private final class Job {
    private let body: () throws -> Void
    private(set) var result: Result<Void, any Error> = .success(())

    init(_ body: @escaping () throws -> Void) { self.body = body }

    func run() { result = Result { try body() } }
}
