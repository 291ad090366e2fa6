import CShims
import Glibc

/// What a process holds of its program and libraries without needing it.
///
/// Each page that is touched brings 15 around it, and a start touches much that is never used again (JSON, the libraries'
/// own starts): some 15 MB of a small daemon's resident memory.
package enum ResidentMemory {
    /// A mapping of a file that holds nothing but what stands in the file.
    struct CleanMapping: Equatable {
        let start: UInt
        let end: UInt
    }

    /// Lets go of the program's and the libraries' pages; those that are needed come back from the page cache by
    /// themselves.
    ///
    /// To be called when a process has got to rest. Only read-only mappings without one page of their own are touched
    /// (madvise(2), MADV_DONTNEED would lose such a page).
    package static func releaseFilePages() throws(SystemError) {
        let text = String(decoding: try FileSystem.contents(ofFile: "/proc/self/smaps", limit: 4 << 20), as: UTF8.self)
        for mapping in cleanMappings(in: text) {
            let start = unsafe UnsafeMutableRawPointer(bitPattern: mapping.start)
            try check("madvise") { unsafe madvise(start, Int(mapping.end - mapping.start), MADV_DONTNEED) }
        }
    }

    /// Has large blocks go back to the system when they are freed.
    ///
    /// Otherwise the first one that is freed raises the size from which blocks are mapped on their own (mallopt(3),
    /// M_MMAP_THRESHOLD), and what many clients sent at a time would stay as holes in the heap.
    package static func returnFreedBlocks() {
        _ = mallopt(M_MMAP_THRESHOLD, 64 << 10)
        _ = mallopt(M_TRIM_THRESHOLD, 128 << 10)
    }

    /// The mappings of a smaps file (proc_pid_smaps(5)) that can be released.
    static func cleanMappings(in smaps: String) -> [CleanMapping] {
        var found: [CleanMapping] = []
        var candidate: CleanMapping?
        for line in smaps.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 5)
            guard let first = words.first else { continue }
            if first.last != ":" {
                candidate = mapping(words)
            } else if first == "Anonymous:" {
                if let candidate, words.count > 1, words[1] == "0" { found.append(candidate) }
                candidate = nil
            }
        }
        return found
    }

    /// The mapping of a header line, "start-end permissions offset device inode path", if it is a read-only file.
    private static func mapping(_ words: [Substring]) -> CleanMapping? {
        guard words.count == 6, words[1] == "r-xp" || words[1] == "r--p", words[4] != "0" else { return nil }
        let bounds = words[0].split(separator: "-")
        guard bounds.count == 2, let start = UInt(bounds[0], radix: 16), let end = UInt(bounds[1], radix: 16),
            start < end
        else { return nil }
        return CleanMapping(start: start, end: end)
    }
}
