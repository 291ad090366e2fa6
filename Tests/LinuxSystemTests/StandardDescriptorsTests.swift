import Glibc
import Testing
@testable import LinuxSystem

@Suite struct StandardDescriptorsTests {
    @Test func `a closed one stays unusable, and nothing else gets its number`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            for descriptor: Int32 in 0...2 { close(descriptor) }
            StandardDescriptors.secure()
            guard unsafe open("/dev/zero", O_RDWR) > 2 else { exit(1) }
            for descriptor: Int32 in 1...2 {
                guard unsafe write(descriptor, "x", 1) < 0, errno == EBADF else { exit(2) }
            }
            var byte: UInt8 = 0
            guard unsafe read(0, &byte, 1) < 0, errno == EBADF else { exit(3) }
            exit(7)
        }
    }

    @Test func `one that is open is left as it is`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            var before = stat()
            var after = stat()
            for descriptor: Int32 in 0...2 {
                guard unsafe fstat(descriptor, &before) == 0 else { exit(1) }
                StandardDescriptors.secure()
                guard unsafe fstat(descriptor, &after) == 0, before.st_ino == after.st_ino else { exit(2) }
            }
            exit(7)
        }
    }

    @Test func `writing to a closed pipe gives an error and no signal`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            StandardDescriptors.secure()
            var ends: [Int32] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { exit(1) }
            close(ends[0])
            guard unsafe write(ends[1], "x", 1) < 0, errno == EPIPE else { exit(2) }
            exit(7)
        }
    }
}
