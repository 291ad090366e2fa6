import CShims
import Glibc
package import NetworkTypes

/// A pidfd: one process, whatever becomes of its number; readable once the process has ended.
package final class ProcessDescriptor: Sendable {
    package let pid: Int32
    package let descriptor: SharedDescriptor

    package init(pid: Int32, adopting descriptor: consuming OwnedDescriptor) {
        self.pid = pid
        self.descriptor = SharedDescriptor(descriptor)
    }

    /// The process that has this number now.
    ///
    /// - Throws: ESRCH where there is none.
    package convenience init(pid: Int32) throws(SystemError) {
        let raw = try checkShim("pidfd_open") { shim_pidfd_open(pid) }
        self.init(pid: pid, adopting: OwnedDescriptor(adopting: raw))
    }

    /// Sends a signal; nothing happens where the process has ended.
    package func signal(_ number: Int32) throws(SystemError) {
        do {
            try checkShim("pidfd_send_signal") { shim_pidfd_signal(descriptor.raw, number) }
        } catch  where error.code == ESRCH {
            return
        }
    }

    /// Whether the process has ended; a child that wasn't collected yet has.
    package var hasEnded: Bool { waitForEnd(milliseconds: 0) }

    /// Waits for the end of the process, at most so long.
    ///
    /// - Returns: whether it has ended.
    package func waitForEnd(milliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&request, 1, milliseconds) > 0
    }

    /// The processor's time that all its threads have taken so far; zero where that can't be had.
    package var processorTime: Interval {
        var clock = clockid_t()
        var time = timespec()
        // The number is another process's only once this one has ended.
        guard unsafe clock_getcpuclockid(pid, &clock) == 0, unsafe clock_gettime(clock, &time) == 0 else {
            return .zero
        }
        return Interval(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Collects our own child once it has ended; nil while it runs, `unknown` for a process that is no child of ours.
    package func collect() -> ProcessEnd? {
        var code: Int32 = 0
        var status: Int32 = 0
        let result = unsafe shim_pidfd_collect(descriptor.raw, &code, &status)
        if result < 0 { return hasEnded ? .unknown : nil }
        guard result == 1 else { return nil }
        return code == CLD_EXITED ? .exited(status) : .signalled(status)
    }
}

/// How a process ended.
package enum ProcessEnd: Hashable, Sendable, CustomStringConvertible {
    case exited(Int32)
    case signalled(Int32)
    /// It was no child of ours, so its status went to another process.
    case unknown

    package var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .signalled(let number): "was ended by signal \(number) (\(Self.signalName(number)))"
        case .unknown: "ended"
        }
    }

    private static func signalName(_ number: Int32) -> String {
        guard let text = unsafe strsignal(number) else { return "unknown" }
        return unsafe String(cString: text)
    }
}
