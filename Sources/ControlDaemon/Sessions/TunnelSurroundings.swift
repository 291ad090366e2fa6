package import HostNetwork

/// What a tunnel's settings depend on of other tunnels.
package struct TunnelSurroundings: Equatable, Sendable {
    /// Where its outer packets go.
    package var passage = OuterPassage.outside
    /// Where those of all other tunnels go ("192.0.2.1:51820"): what isn't nested in this one doesn't belong into it.
    package var othersEndpoints: Set<String> = []
}
