/// A prefix of a tunnel that another tunnel carries.
package struct YieldedRoute: Codable, Equatable, Sendable {
    package var prefix: String
    /// The other tunnel's; nil where tunneld doesn't know it.
    package var identifier: String?
    package var name: String?
    package var interface: String

    package init(prefix: String, identifier: String?, name: String?, interface: String) {
        self.prefix = prefix
        self.identifier = identifier
        self.name = name
        self.interface = interface
    }
}

extension YieldedRoute {
    private enum CodingKeys: String, CodingKey { case prefix, identifier, name, interface }

    /// Every key stands in the document.
    package func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: CodingKeys.self)
        try c.encode(prefix, forKey: .prefix)
        try c.encode(identifier, forKey: .identifier)
        try c.encode(name, forKey: .name)
        try c.encode(interface, forKey: .interface)
    }
}
