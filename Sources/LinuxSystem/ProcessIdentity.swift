/// Which process: a number is used again, a number with a start time is not (until the next boot).
package struct ProcessIdentity: Hashable, Sendable {
    package let pid: Int32
    /// Clock ticks since boot (proc(5), field 22 of /proc/<pid>/stat).
    package let startTime: UInt64

    package init(pid: Int32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }

    /// The process that has this number now; nil where there is none.
    package init?(reading pid: Int32) {
        guard let text = try? FileSystem.contents(ofFile: "/proc/\(pid)/stat", limit: 4096),
            let startTime = Self.startTime(inStat: text)
        else { return nil }
        self.init(pid: pid, startTime: startTime)
    }

    /// A descriptor of exactly this process; nil where it has ended.
    package func open() -> ProcessDescriptor? {
        // The number may pass to another process between opening and reading, but not after opening.
        guard let process = try? ProcessDescriptor(pid: pid), ProcessIdentity(reading: pid) == self,
            !process.hasEnded
        else { return nil }
        return process
    }

    /// The name stands in parentheses and may hold anything, so fields count from the last one.
    static func startTime(inStat text: [UInt8]) -> UInt64? {
        guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
        // The first field behind the name is number 3.
        guard fields.count > 19 else { return nil }
        return UInt64(String(decoding: fields[19], as: UTF8.self))
    }
}
