import Testing
import VarlinkCore
import VarlinkSocket

@testable import ControlDaemon

@Suite struct DaemonServiceTests {
    @Test func `every method that is described is answered, and every one that is answered is described`() throws {
        let bench = try Bench()
        let service = try DaemonService.make(
            store: bench.store,
            keychain: bench.keychain,
            catalogue: bench.catalogue,
            tunnels: Tunnels(bench.services()),
            hub: bench.hub,
            permission: Permission(allowsAllUsers: false),
            incidents: [],
            log: bench.services().log
        )
        #expect(service.description.disagreements(with: service.methods) == [])
        #expect(service.methods.contains("org.tunneld.Sessions.Start"))
    }
}
