import ControlAPI
import Synchronization
import VarlinkCore
import VarlinkSocket

/// The methods of `org.tunneld.Provider` and where each goes.
enum ProviderService {
    typealias Method<Tunnel: TunnelProvider> =
        @Sendable (isolated ProviderHost<Tunnel>, VarlinkRequest) throws -> Void

    /// - Parameter host: who answers; the host needs the server first, so it is asked for with each call.
    static func make<Tunnel: TunnelProvider>(
        version: String,
        host: @escaping @Sendable () -> ProviderHost<Tunnel>?
    ) throws -> VarlinkService {
        var service = VarlinkService(
            ServiceDescription(
                vendor: "tunneld",
                product: Tunnel.descriptor.name,
                version: version,
                url: "https://varlink.org",
                interfaces: [try InterfaceDescription(parsing: InterfaceDescriptions.provider)]
            )
        )
        let methods: [(String, Method<Tunnel>)] = [
            ("Start", { try $0.start($1) }),
            ("UpdateConfiguration", { try $0.update($1) }), ("SettingsApplied", { try $0.settingsApplied($1) }),
            ("Supply", { try $0.supply($1) }), ("PathChanged", { try $0.pathChanged($1) }),
            ("Sleep", { try $0.sleep($1) }), ("Wake", { try $0.wake($1) }),
            ("Status", { try $0.status($1) }), ("Stop", { try $0.stop($1) }), ("Ping", { try $0.ping($1) }),
            ("HandleMessage", { try $0.handleMessage($1) }),
        ]
        for (name, method) in methods {
            service.on("\(ProviderCalls.interface).\(name)", handler(of: method, host))
        }
        service.onMore("\(ProviderCalls.interface).Attach", handler(of: { try $0.attach($1) }, host))
        return service
    }

    private static func handler<Tunnel: TunnelProvider>(
        of method: @escaping Method<Tunnel>,
        _ host: @escaping @Sendable () -> ProviderHost<Tunnel>?
    ) -> VarlinkService.Handler {
        { request in
            guard let host = host() else { throw VarlinkError.internalError("The provider is ending.") }
            do {
                try await method(host, request)
            } catch let error as ControlError {
                throw VarlinkError(error)
            }
        }
    }
}
