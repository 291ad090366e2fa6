package import ControlAPI
import LinuxSystem

/// A provider's own proof that it has no privilege, before its first queue (design, section 1).
package enum SelfCheck {
    /// Makes the process undumpable and forbids new privileges, then checks every thread.
    ///
    /// - Throws: `permissionDenied` with all that the process should not have; `providerFailed` where that can't be
    ///   found out.
    package static func restrictAndVerify() throws(ControlError) {
        do {
            try OwnProcess.makeUndumpable()
            try OwnProcess.forbidNewPrivileges()
        } catch {
            throw failure("\(error)")
        }
        guard !OwnProcess.isDumpable else { throw failure("The process is still dumpable.") }
        try verify()
    }

    /// Checks every thread that there is now.
    package static func verify() throws(ControlError) {
        let threads: [(thread: String, privileges: ThreadPrivileges)]
        do {
            threads = try OwnProcess.threads()
        } catch {
            throw failure("\(error)")
        }
        guard !threads.isEmpty else { throw failure("/proc/self/task is empty.") }
        if let error = verdict(on: threads) { throw error }
    }

    /// Nil where no thread has anything that it must not have.
    static func verdict(on threads: [(thread: String, privileges: ThreadPrivileges)]) -> ControlError? {
        for (thread, privileges) in threads where !privileges.faults.isEmpty {
            return ControlError(
                .permissionDenied,
                "The provider refuses to run with privileges.",
                reason: "Of its thread \(thread): " + privileges.faults.joined(separator: "; ") + ".",
                remedy: "Let tunneld start it; by hand: setpriv --reuid 61184 --regid 61184 --clear-groups "
                    + "--inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs."
            )
        }
        return nil
    }

    private static func failure(_ reason: String) -> ControlError {
        ControlError(
            .providerFailed,
            "The provider can't tell what privileges it has.",
            reason: reason,
            remedy: "A provider needs /proc, mounted as proc(5) says."
        )
    }
}
