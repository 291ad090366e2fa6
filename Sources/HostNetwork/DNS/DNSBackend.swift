/// What programs ask for names here, and how it is told of a tunnel's servers.
package enum DNSBackend: String, Hashable, Sendable, Codable {
    case resolved = "systemd-resolved"
    case resolvconf
    case file = "resolv.conf"
}

/// That a tunnel's name servers are in force, or about to be; part of its journal.
package struct DNSRecord: Hashable, Sendable, Codable {
    package let backend: DNSBackend
    /// As it was called when it was told.
    package let interface: InterfaceIdentity
    /// Of the program, or the file.
    package let path: String?

    package init(backend: DNSBackend, interface: InterfaceIdentity, path: String? = nil) {
        self.backend = backend
        self.interface = interface
        self.path = path
    }
}

/// Why a tunnel's name servers can't be put in force.
package struct DNSError: Error, Hashable, Sendable, CustomStringConvertible {
    package let what: String
    package let why: String
    package let remedy: String

    package init(_ what: String, why: String, remedy: String) {
        self.what = what
        self.why = why
        self.remedy = remedy
    }

    package var description: String { "\(what) \(why) \(remedy)" }
}
