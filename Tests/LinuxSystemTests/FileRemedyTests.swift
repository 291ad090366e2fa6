import Glibc
import LinuxSystem
import Testing

@Suite struct FileRemedyTests {
    @Test(arguments: [
        (EROFS, "read-only"), (ENOSPC, "full"), (EDQUOT, "quota"), (ENOENT, "missing above"), (ENOTDIR, "in the way"),
        (EIO, "dmesg"), (EMFILE, "limit of open files"), (ENAMETOOLONG, "shorter path"),
        (EBUSY, "what the reason says"),
    ])
    func `the remedy fits what the system says`(code: Int32, word: String) {
        let remedy = SystemError(code, in: "mkdir").fileRemedy("the folder /x", or: "name another")
        #expect(remedy.contains(word))
        #expect(remedy.hasSuffix(", or name another."))
        #expect(!remedy.contains("as root"))
    }

    @Test func `who isn't root is told to be, and root isn't`() {
        let remedy = SystemError(EACCES, in: "mkdir").fileRemedy("the folder /x")
        #expect(remedy.contains("Run it as root") == (geteuid() != 0))
        #expect(remedy.contains("ls -ld") == (geteuid() == 0))
    }
}
