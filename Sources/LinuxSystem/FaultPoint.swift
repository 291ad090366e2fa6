#if DEBUG
    import Glibc
    import Synchronization
#endif

/// Where a debug build can be made to fail, or to end at once, so that tests see what is left then.
///
/// Every effect on the machine passes one, in the code that has the effect, so that a test finds all of them by asking. In a
/// release build there is nothing of it.
///
/// `TUNNELD_FAULTS` names a folder. What is passed is added to its file `steps`, a line each: "effect address add#2" is the
/// second address that is added. Its file `fault` has "NUMBER kill STEP" or "NUMBER fail STEP", with a step as in `steps`; with
/// another number counting begins anew.
package enum FaultPoint {
    /// Comes before an effect.
    ///
    /// - Throws: EIO where it is to fail; then it must not happen.
    package static func reach(_ name: @autoclosure () -> String) throws(SystemError) {
        #if DEBUG
            if folder != nil, pass("effect \(name())") { throw SystemError(EIO, call: "fault(\(name()))") }
        #endif
    }

    /// Between two effects, in which nothing can fail, the process can still end.
    package static func moment(_ name: @autoclosure () -> String) {
        #if DEBUG
            if folder != nil { _ = pass("moment \(name())") }
        #endif
    }

    /// Whether tests want to know.
    package static var isArmed: Bool {
        #if DEBUG
            folder != nil
        #else
            false
        #endif
    }

    #if DEBUG
        private static let folder = unsafe getenv("TUNNELD_FAULTS").map { unsafe String(cString: $0) }
        private static let limit = 4096

        private struct State {
            var order = ""
            var counts: [String: Int] = [:]
        }

        private static let state = Mutex(State())

        /// - Returns: whether it is to fail.
        private static func pass(_ name: String) -> Bool {
            guard let folder,
                let bytes = try? FileSystem.contents(ofFile: folder + "/fault", limit: limit)
            else { return false }
            let order = String(decoding: bytes, as: UTF8.self)
            let step = state.withLock { state in
                if state.order != order { state = State(order: order) }
                let count = state.counts[name, default: 0] + 1
                state.counts[name] = count
                return "\(name)#\(count)"
            }
            note(step, in: folder)
            let words = order.split(separator: " ", maxSplits: 2).map(String.init)
            guard words.count == 3, words[2] == step else { return false }
            if words[1] == "kill" {
                kill(getpid(), SIGKILL)
                while true { pause() }
            }
            return words[1] == "fail"
        }

        private static func note(_ step: String, in folder: String) {
            let path = folder + "/steps"
            let raw = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
            guard raw >= 0 else { return }
            let file = OwnedDescriptor(adopting: raw)
            try? AtomicFile.writeAll(unsafe Array("\(step)\n".utf8).span.bytes, to: file.raw)
        }
    #endif
}
