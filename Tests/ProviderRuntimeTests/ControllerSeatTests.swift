import ControlAPI
import ProviderRuntime
import Testing

struct ControllerSeatTests {
    @Test func `the first tunneld with the launch's nonce takes control`() throws {
        var seat = ControllerSeat(nonce: "abc")
        try seat.claim(attach(epoch: 3), from: 100)
        #expect(seat.epoch == 3)
        #expect(seat.holder == 100)
        try seat.check(100)
    }

    @Test func `nobody is obeyed before an attach`() {
        let seat = ControllerSeat(nonce: "abc")
        let error = #expect(throws: ControlError.self) { try seat.check(100) }
        #expect(error?.name == .permissionDenied)
        #expect(error?.reason == "Nobody has attached yet.")
    }

    @Test(arguments: ["", "ab", "abcd", "abd", "ABC"])
    func `another nonce is refused and changes nothing`(nonce: String) throws {
        var seat = ControllerSeat(nonce: "abc")
        try seat.claim(attach(epoch: 3), from: 100)
        let error = #expect(throws: ControlError.self) {
            try seat.claim(.init(version: 1, epoch: 9, nonce: nonce), from: 200)
        }
        #expect(error?.name == .permissionDenied)
        #expect(seat.epoch == 3)
        #expect(seat.holder == 100)
    }

    @Test func `another version is told both versions before anything else`() {
        var seat = ControllerSeat(nonce: "abc")
        let error = #expect(throws: ControlError.self) {
            try seat.claim(.init(version: 2, epoch: 9, nonce: "wrong"), from: 200)
        }
        #expect(error?.name == .versionMismatch)
        #expect(error?.reason == "It speaks version 1 of org.tunneld.Provider, and tunneld version 2.")
        #expect(seat.holder == nil)
    }

    @Test func `a higher epoch takes over and the older process is obeyed no more`() throws {
        var seat = ControllerSeat(nonce: "abc")
        try seat.claim(attach(epoch: 3), from: 100)
        try seat.claim(attach(epoch: 4), from: 200)
        try seat.check(200)
        let error = #expect(throws: ControlError.self) { try seat.check(100) }
        #expect(error?.reason == "Another tunneld has attached since.")
    }

    @Test func `a lower epoch is refused and told which one is higher`() throws {
        var seat = ControllerSeat(nonce: "abc")
        try seat.claim(attach(epoch: 4), from: 200)
        let error = #expect(throws: ControlError.self) { try seat.claim(attach(epoch: 3), from: 100) }
        #expect(error?.name == .unavailable)
        #expect(error?.reason == "A newer tunneld controls it: its epoch is 4, this one's 3.")
        try seat.check(200)
    }

    @Test func `the same epoch again is the same tunneld on a new connection`() throws {
        var seat = ControllerSeat(nonce: "abc")
        try seat.claim(attach(epoch: 4), from: 200)
        try seat.claim(attach(epoch: 4), from: 200)
        try seat.check(200)
    }

    private func attach(epoch: UInt64) -> ProviderCalls.AttachParameters {
        .init(version: ProviderCalls.version, epoch: epoch, nonce: "abc")
    }
}
