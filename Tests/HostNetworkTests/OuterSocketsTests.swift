import CShims
import Glibc
import LinuxSystem
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct OuterSocketsTests {
    @Test func `both families get the same free port, marked and close-on-exec`() throws {
        let sockets = try OuterSockets.open(port: 0)
        #expect(sockets.port != 0)
        #expect(sockets.note == nil)
        let six = try #require(sockets.ipv6?.raw)
        for raw in [sockets.ipv4.raw, six] {
            #expect(try SocketOption.localPort(of: raw) == sockets.port)
            #expect(option(SO_MARK, of: raw) == Int32(bitPattern: Ownership.outerMark))
            #expect(fcntl(raw, F_GETFD) == FD_CLOEXEC)
            #expect(fcntl(raw, F_GETFL) & O_NONBLOCK != 0)
            // The kernel counts its own overhead and doubles what was asked for (socket(7)).
            #expect(option(SO_RCVBUF, of: raw) == 2 * 7 << 20)
        }
    }

    @Test func `a taken port is named`() throws {
        let first = try OuterSockets.open(port: 0)
        do throws(OuterSocketError) {
            _ = try OuterSockets.open(port: first.port)
            Issue.record("the port was given twice")
        } catch {
            #expect(error.code == .portInUse)
            #expect(error.what.contains("\(first.port)"))
        }
    }

    @Test(arguments: [EAFNOSUPPORT, EADDRNOTAVAIL, EPERM])
    func `a host without IPv6 sockets is told from one without the right to mark`(code: Int32) {
        let refused = OuterSocketError(SystemError(code, call: "socket(UDP)"), port: 1, isIPv6: true)
        #expect(refused.code == .familyUnavailable)
        let mark = OuterSocketError(SystemError(EPERM, call: "setsockopt(SO_MARK)"), port: 1, isIPv6: true)
        #expect(mark.code == .noPermission)
        #expect(mark.remedy?.contains("CAP_NET_ADMIN") == true)
    }

    private func option(_ option: Int32, of raw: Int32) -> Int32 {
        var value: Int32 = 0
        var size = socklen_t(4)
        _ = unsafe getsockopt(raw, SOL_SOCKET, option, &value, &size)
        return value
    }
}
