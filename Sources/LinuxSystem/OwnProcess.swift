import CShims
import Glibc

/// What a process does to itself, and sees of itself, before it does anything else.
package enum OwnProcess {
    /// Forbids core dumps and tracing by the process's own user, whose memory holds keys.
    package static func makeUndumpable() throws(SystemError) {
        try checkShim("prctl(PR_SET_DUMPABLE)") { shim_set_undumpable() }
    }

    /// Whether another process of the same user could read this one's memory.
    package static var isDumpable: Bool { shim_is_dumpable() != 0 }

    /// Forbids the calling thread, and threads it makes from now on, to gain privileges by executing a program.
    package static func forbidNewPrivileges() throws(SystemError) {
        try checkShim("prctl(PR_SET_NO_NEW_PRIVS)") { shim_set_no_new_privileges() }
    }

    /// The privileges of every thread that the process has now, by thread id.
    ///
    /// - Throws: where `/proc` isn't there or isn't what proc(5) says.
    package static func threads() throws(SystemError) -> [(thread: String, privileges: ThreadPrivileges)] {
        var result: [(thread: String, privileges: ThreadPrivileges)] = []
        for thread in try FileSystem.names(inFolder: "/proc/self/task") {
            let path = "/proc/self/task/\(thread)/status"
            let text: String
            do {
                text = String(decoding: try FileSystem.contents(ofFile: path, limit: 64 << 10), as: UTF8.self)
            } catch {
                // A thread that ended since the folder was read.
                if error.code == ENOENT || error.code == ESRCH { continue }
                throw error
            }
            guard let privileges = ThreadPrivileges(parsing: text) else {
                throw SystemError(EBADMSG, call: "read(\(path))")
            }
            result.append((thread, privileges))
        }
        return result
    }

    /// The absolute path of the running program.
    package static func executable() throws(SystemError) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try check("readlink(/proc/self/exe)") {
            unsafe readlink("/proc/self/exe", &buffer, buffer.count)
        }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
