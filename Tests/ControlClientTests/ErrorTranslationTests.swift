import ControlAPI
import ControlClient
import Glibc
import LinuxSystem
import Testing
import VarlinkCore
import VarlinkSocket

@Suite struct ErrorTranslationTests {
    private func translated(_ error: any Error) -> ControlError {
        ErrorTranslation.controlError(error, method: "org.tunneld.Sessions.Start", socket: "/run/x/control")
    }

    @Test(arguments: ControlError.Name.allCases)
    func `what tunneld answers comes through whole`(_ name: ControlError.Name) {
        let error = ControlError(name, "What failed.", reason: "Why.", remedy: "What to do.", field: "name")
        #expect(translated(VarlinkError(error.varlinkName, error)) == error)
    }

    @Test func `errors of the transport's own keep their names`() {
        #expect(translated(VarlinkError.limitExceeded("Too many.")) == ControlError(.tooMany, "Too many."))
        #expect(translated(VarlinkError.internalError("A fault.")) == ControlError(.internalError, "A fault."))
        let malformed = translated(VarlinkError.malformedMessage(.truncated))
        #expect(malformed.name == .malformedMessage && !malformed.message.isEmpty)
    }

    @Test(
        arguments: [
            VarlinkError.methodNotFound("a.B"), .interfaceNotFound("a"), .methodNotImplemented("a.B"),
        ]
    )
    func `a call that tunneld doesn't know is a difference of versions`(_ error: VarlinkError) {
        let told = translated(error)
        #expect(told.name == .versionMismatch)
        #expect(told.message.contains("org.tunneld.Sessions.Start"))
        #expect(told.remedy?.contains("Upgrade tunneld") == true)
    }

    @Test func `a parameter that tunneld refused is named`() {
        let told = translated(VarlinkError.invalidParameter("configuration.name"))
        #expect(told.name == .invalidParameter && told.field == "configuration.name")
    }

    @Test(
        arguments: [
            (ENOENT, .notRunning), (ECONNREFUSED, .notRunning), (EACCES, .permissionDenied), (EAGAIN, .tooMany),
        ] as [(Int32, ControlError.Name)]
    )
    func `a socket that can't be connected to says why`(_ code: Int32, _ name: ControlError.Name) {
        let cause = SystemError(code, in: "connect")
        let told = translated(VarlinkClientError.cannotConnect(path: "/run/x/control", cause))
        #expect(told.name == name)
        #expect(told.reason?.contains("\(cause)") == true)
        #expect(told.remedy != nil)
    }

    @Test func `a connection that ends, and an answer that can't be read, are told apart`() {
        #expect(translated(VarlinkClientError.disconnected).name == .unavailable)
        #expect(translated(VarlinkClientError.timedOut).name == .unavailable)
        #expect(translated(VarlinkClientError.requestTooLong(limit: 4)).name == .tooMany)
        let unreadable = #expect(throws: DecodingError.self) {
            try VarlinkJSON.decode(SessionsCalls.StartReply.self, from: VarlinkJSON.emptyObject)
        }
        #expect(unreadable.map(translated)?.name == .versionMismatch)
    }
}
