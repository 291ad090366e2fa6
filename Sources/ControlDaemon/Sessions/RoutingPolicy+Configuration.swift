import ControlAPI
import HostNetwork

extension RoutingPolicy {
    /// What a configuration says of its tunnel's routes.
    init(_ configuration: Configuration) {
        self.init(
            enforcesRoutes: configuration.enforceRoutes,
            includesAll: configuration.includeAllNetworks,
            excludesLocal: configuration.excludeLocalNetworks,
            nestedIn: configuration.nestedIn
        )
    }
}
