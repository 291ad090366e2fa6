/// Where a tunnel's outer packets go.
package enum OuterPassage: Hashable, Sendable {
    /// Outside of all tunnels.
    case outside
    /// Through another tunnel, in which this one is nested: its interface.
    case through(InterfaceIdentity)
    /// Nowhere, for that other tunnel isn't up.
    case closed

    package var isOutside: Bool { self == .outside }

    var interface: UInt32? { if case .through(let interface) = self { interface.index } else { nil } }
}
