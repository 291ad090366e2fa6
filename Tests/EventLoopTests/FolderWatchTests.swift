import Dispatch
import EventLoop
import Glibc
import LinuxSystem
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct FolderWatchTests {
    private let folder: String

    init() throws {
        var template = Array("/tmp/folder-watch-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError(errno, in: "mkdtemp") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test func `what is written, renamed and removed is told by its name, and what is open is not`() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: FolderWatch.News.self)
        let watch = try FolderWatch(folder, on: DispatchQueue(label: "folder-watch")) { continuation.yield($0) }
        var news = stream.makeAsyncIterator()

        let open = unsafe Glibc.open("\(folder)/open", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        let file = OwnedDescriptor(adopting: open)
        #expect(unsafe write(file.raw, "x", 1) == 1)
        try AtomicFile.write([1], to: "\(folder)/whole", mode: 0o600)
        var seen: Set<String> = []
        while !seen.contains("whole") { seen.formUnion(Self.names(await news.next())) }
        #expect(seen.isSubset(of: ["whole", "whole.new"]))

        try AtomicFile.remove("\(folder)/whole")
        #expect(Self.names(await news.next()) == ["whole"])
        #expect(!seen.contains("open"))
        close(file)
        while !seen.contains("open") { seen.formUnion(Self.names(await news.next())) }
        try FolderRemoval.remove(folder)
        var last: FolderWatch.News?
        while last != .folderGone { last = await news.next() }
        watch.cancel()
    }

    @Test func `a folder that isn't there can't be watched`() throws {
        #expect(throws: SystemError.self) {
            try FolderWatch("\(folder)/none", on: DispatchQueue(label: "folder-watch")) { _ in }
        }
        try FolderRemoval.remove(folder)
    }

    private static func names(_ news: FolderWatch.News?) -> Set<String> {
        if case .names(let names) = news { return names }
        return []
    }

    private func close(_ file: consuming OwnedDescriptor) {}
}
