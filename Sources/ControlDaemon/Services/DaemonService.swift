import ControlAPI
import HostNetwork
import Journal
import Keychain
import VarlinkCore
import VarlinkSocket

/// The Varlink service of tunneld: its interfaces, and who answers each method.
enum DaemonService {
    /// - Parameter settled: returns once the block follows every change of the store so far.
    static func make(
        store: ConfigurationStore,
        keychain: Keychain,
        catalogue: ProviderCatalogue,
        tunnels: Tunnels,
        hub: EventHub,
        settled: @escaping @Sendable () async -> Void = {},
        permission: Permission,
        incidents: Incidents,
        network: NetworkObserver,
        gate: StartGate? = nil,
        log: Logger
    ) throws -> VarlinkService {
        let texts = [
            InterfaceDescriptions.configurations, InterfaceDescriptions.sessions, InterfaceDescriptions.keychain,
            InterfaceDescriptions.diagnostics, InterfaceDescriptions.network,
        ]
        var service = VarlinkService(
            ServiceDescription(
                vendor: ProductVersion.vendor,
                product: ProductVersion.product,
                version: ProductVersion.version,
                url: "https://varlink.org",
                interfaces: try texts.map { try InterfaceDescription(parsing: $0) }
            )
        )
        ConfigurationsService(
            store: store,
            catalogue: catalogue,
            tunnels: tunnels,
            hub: hub,
            settled: settled,
            permission: permission,
            log: log
        ).register(&service)
        SessionsService(
            store: store,
            catalogue: catalogue,
            tunnels: tunnels,
            hub: hub,
            permission: permission,
            log: log
        ).register(&service)
        KeychainService(store: store, keychain: keychain, permission: permission, log: log).register(&service)
        DiagnosticsService(catalogue: catalogue, incidents: incidents).register(&service)
        NetworkService(observer: network, tunnels: tunnels).register(&service)
        if let gate { service.hold { try await gate.pass() } }
        return service
    }
}
