import Glibc

/// What happens on a crash: the process ends, at once and without a word about its memory.
///
/// The Swift runtime may have put its crash handler in place before `main`. That one starts a program, for seconds, which
/// writes registers and memory to the log; keys may stand there, and nobody learns of the end meanwhile.
package enum CrashSignals {
    private static let all: [Int32] = [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

    /// Lets each of these signals end the process, as the kernel does it.
    package static func endAtOnce() { for number in all { _ = signal(number, SIG_DFL) } }
}
