import Testing

@testable import HostNetwork
@testable import SystemBus

/// What signals of the bus mean.
struct LogindTests {
    @Test(arguments: [true, false])
    func `an announcement is taken with whoever sent it`(isBeginning: Bool) {
        let signal = signal(Logind.manager, "PrepareForSleep", [.boolean(isBeginning)])
        #expect(Logind.event(of: signal) == .announced(by: ":1.7", isBeginning: isBeginning))
    }

    @Test func `a change of owners is the bus's to tell`() {
        let come = [BusSignal.Argument.string(Logind.name), .string(""), .string(":1.8")]
        let gone = [BusSignal.Argument.string(Logind.name), .string(":1.8"), .string("")]
        let bus = "org.freedesktop.DBus"
        #expect(Logind.event(of: signal(bus, "NameOwnerChanged", come, sender: bus)) == .ownerChanged(":1.8"))
        #expect(Logind.event(of: signal(bus, "NameOwnerChanged", gone, sender: bus)) == .ownerChanged(nil))
        #expect(Logind.event(of: signal(bus, "NameOwnerChanged", come)) == nil)
        let other = [BusSignal.Argument.string("org.example"), .string(""), .string(":1.8")]
        #expect(Logind.event(of: signal(bus, "NameOwnerChanged", other, sender: bus)) == nil)
    }

    @Test func `what isn't as it should be is passed over`() {
        #expect(Logind.event(of: signal(Logind.manager, "PrepareForSleep", [])) == nil)
        #expect(Logind.event(of: signal(Logind.manager, "PrepareForSleep", [.string("true")])) == nil)
        #expect(Logind.event(of: signal(Logind.manager, "PrepareForSleep", [.boolean(true)], path: "/other")) == nil)
        #expect(Logind.event(of: signal(Logind.manager, "PrepareForShutdown", [.boolean(true)])) == nil)
        let bus = "org.freedesktop.DBus"
        #expect(Logind.event(of: signal(bus, "NameOwnerChanged", [.string(Logind.name)], sender: bus)) == nil)
    }

    private func signal(
        _ interface: String,
        _ member: String,
        _ arguments: [BusSignal.Argument],
        sender: String = ":1.7",
        path: String = Logind.path
    ) -> BusSignal {
        BusSignal(sender: sender, path: path, interface: interface, member: member, arguments: arguments)
    }
}
