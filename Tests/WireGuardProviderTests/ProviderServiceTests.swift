import Testing
import VarlinkCore
import VarlinkSocket

@testable import ProviderRuntime
@testable import WireGuardProvider

@Suite struct ProviderServiceTests {
    @Test func `every method that is described is answered, and every one that is answered is described`() throws {
        let service = try ProviderService.make(version: "1") { nil as ProviderHost<WireGuardTunnel>? }
        #expect(service.description.disagreements(with: service.methods) == [])
        #expect(service.methods.contains("org.tunneld.Provider.Attach"))
    }
}
