import Glibc
import LinuxSystem
import NetworkTypes
import SystemBus

/// systemd-resolved over D-Bus (org.freedesktop.resolve1(5)).
enum Resolved {
    static let name = "org.freedesktop.resolve1"
    static let path = "/org/freedesktop/resolve1"
    static let manager = "\(name).Manager"
    private static let link = "\(name).Link"

    /// For all the calls of one change.
    static let patience = Interval.seconds(3)
    /// It learns of a new link from the kernel, as we do, and may be behind.
    private static let attempts = 20

    /// What is to be heard of it.
    static let rules = [
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
            + "arg0='\(name)'",
        "type='signal',sender='\(name)',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
    ]

    /// Whether it answers at all, started for that if need be.
    static func ping(_ calls: BusCalls) throws(BusError) {
        try calls.call(BusMethod("Ping", on: "org.freedesktop.DBus.Peer", of: name, at: path)) { _ throws(BusError) in }
    }

    /// Puts a link's settings in force, all of them.
    static func push(_ dns: LinkDNS, to index: UInt32, _ calls: BusCalls) throws(BusError) {
        let index = Int32(bitPattern: index)
        try setServers(dns.servers, index, calls)
        try call("SetLinkDomains", calls) { arguments throws(BusError) in
            try arguments.int32(index)
            try arguments.array("(sb)") { array throws(BusError) in
                for domain in dns.domains {
                    try array.structure("sb") { structure throws(BusError) in
                        try structure.string(domain.name)
                        try structure.boolean(domain.isRouteOnly)
                    }
                }
            }
        }
        // Versions before 240 have none of these; there a link with domains is asked for names below them alone.
        try optional { () throws(BusError) in
            try call("SetLinkDefaultRoute", calls) { arguments throws(BusError) in
                try arguments.int32(index)
                try arguments.boolean(dns.isDefaultRoute)
            }
        }
        let modes = [
            ("SetLinkDNSOverTLS", dns.overTLS.rawValue), ("SetLinkDNSSEC", dns.validation.rawValue),
            ("SetLinkLLMNR", "no"), ("SetLinkMulticastDNS", "no"),
        ]
        for (method, mode) in modes {
            try optional { () throws(BusError) in
                try call(method, calls) { arguments throws(BusError) in
                    try arguments.int32(index)
                    try arguments.string(mode)
                }
            }
        }
    }

    /// Takes back all that anybody has set for a link.
    static func revert(_ index: UInt32, _ calls: BusCalls) throws(BusError) {
        try call("RevertLink", calls) { arguments throws(BusError) in
            try arguments.int32(Int32(bitPattern: index))
        }
    }

    /// What it has for a link now.
    static func read(_ index: UInt32, _ calls: BusCalls) throws(BusError) -> ResolvedLink {
        let path = try path(of: index, calls)
        var found = ResolvedLink()
        found.servers = try calls.property("DNS", "a(iay)", on: link, of: name, at: path) { answer throws(BusError) in
            try answer.structures("iay") { server throws(BusError) in
                _ = try server.int32()
                return IPAddress(bytes: try server.bytes())
            }
        }.compactMap(\.self)
        found.domains = try calls.property("Domains", "a(sb)", on: link, of: name, at: path) {
            answer throws(BusError) in
            try answer.structures("sb") { domain throws(BusError) in
                LinkDNS.Domain(name: try domain.string(), isRouteOnly: try domain.boolean())
            }
        }
        found.isDefaultRoute = try? calls.property("DefaultRoute", "b", on: link, of: name, at: path) {
            answer throws(BusError) in try answer.boolean()
        }
        found.overTLS = try? calls.property("DNSOverTLS", "s", on: link, of: name, at: path) {
            answer throws(BusError) in try answer.string()
        }
        found.validation = try? calls.property("DNSSEC", "s", on: link, of: name, at: path) {
            answer throws(BusError) in try answer.string()
        }
        return found
    }

    /// All servers that it knows, by link; those of no link have the number 0.
    static func servers(_ calls: BusCalls) throws(BusError) -> [(link: UInt32, server: Endpoint)] {
        let all: [(link: UInt32, server: Endpoint)?]
        do throws(BusError) {
            all = try calls.property("DNSEx", "a(iiayqs)", on: manager, of: name, at: path) { answer throws(BusError) in
                try answer.structures("iiayqs") { server throws(BusError) in
                    let index = UInt32(bitPattern: try server.int32())
                    _ = try server.int32()
                    let address = IPAddress(bytes: try server.bytes())
                    let port = try server.uint16()
                    _ = try server.string()
                    return address.map { (index, self.server($0, port: port == 0 ? 53 : port, of: index)) }
                }
            }
        } catch {
            guard case .refused = error else { throw error }
            // Versions before 246.
            all = try calls.property("DNS", "a(iiay)", on: manager, of: name, at: path) { answer throws(BusError) in
                try answer.structures("iiay") { server throws(BusError) in
                    let index = UInt32(bitPattern: try server.int32())
                    _ = try server.int32()
                    return IPAddress(bytes: try server.bytes()).map { (index, self.server($0, port: 53, of: index)) }
                }
            }
        }
        return all.compactMap(\.self)
    }

    /// One that has a link-local address has it on its link.
    private static func server(_ address: IPAddress, port: UInt16, of link: UInt32) -> Endpoint {
        guard case .v6(let v6) = address, v6.isLinkLocal else { return Endpoint(address, port: port) }
        return Endpoint(address, port: port, zone: link)
    }

    /// All domains that it knows, by link; those of no link have the number 0.
    static func domains(_ calls: BusCalls) throws(BusError) -> [(link: UInt32, domain: LinkDNS.Domain)] {
        try calls.property("Domains", "a(isb)", on: manager, of: name, at: path) { answer throws(BusError) in
            try answer.structures("isb") { domain throws(BusError) in
                let index = UInt32(bitPattern: try domain.int32())
                return (index, LinkDNS.Domain(name: try domain.string(), isRouteOnly: try domain.boolean()))
            }
        }
    }

    private static func path(of index: UInt32, _ calls: BusCalls) throws(BusError) -> String {
        try calls.call(BusMethod("GetLink", on: manager, of: name, at: path)) { arguments throws(BusError) in
            try arguments.int32(Int32(bitPattern: index))
        } answer: { answer throws(BusError) in
            try answer.objectPath()
        }
    }

    private static func setServers(_ servers: [IPAddress], _ index: Int32, _ calls: BusCalls) throws(BusError) {
        for attempt in 1... {
            do throws(BusError) {
                return try call("SetLinkDNS", calls) { arguments throws(BusError) in
                    try arguments.int32(index)
                    try arguments.array("(iay)") { array throws(BusError) in
                        for server in servers {
                            try array.structure("iay") { structure throws(BusError) in
                                try structure.int32(server.isIPv6 ? AF_INET6 : AF_INET)
                                try structure.bytes(server.bytes)
                            }
                        }
                    }
                }
            } catch {
                guard case .refused("\(name).NoSuchLink", _) = error, attempt < attempts else { throw error }
                usleep(50_000)
            }
        }
    }

    private static func call(
        _ method: String,
        _ calls: BusCalls,
        _ arguments: (borrowing BusArguments) throws(BusError) -> Void
    ) throws(BusError) {
        do throws(SystemError) {
            try FaultPoint.reach("resolved \(method)")
        } catch {
            throw .refused(name: "org.freedesktop.DBus.Error.IOError", message: error.description)
        }
        try calls.call(BusMethod(method, on: manager, of: name, at: path), arguments: arguments)
    }

    private static func optional(_ body: () throws(BusError) -> Void) throws(BusError) {
        do throws(BusError) {
            try body()
        } catch {
            guard case .refused("org.freedesktop.DBus.Error.UnknownMethod", _) = error else { throw error }
        }
    }
}
