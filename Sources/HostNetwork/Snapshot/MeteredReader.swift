import NetworkTypes
package import SystemBus

/// Asks NetworkManager whether what goes over a link is paid for by volume; nobody else keeps that.
package struct MeteredReader: Sendable {
    private let bus: SystemBus?
    private static let patience = Interval.milliseconds(500)
    private static let service = "org.freedesktop.NetworkManager"

    /// What is to be heard of it.
    static let rules = [
        "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',"
            + "arg0='\(service)'",
        "type='signal',sender='\(service)',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
            + "arg0='\(service).Device'",
    ]

    /// - Parameter bus: nil: nobody is asked.
    package init(bus: SystemBus?) { self.bus = bus }

    /// What is known of links, by name.
    func metered(_ names: Set<String>) async -> [String: Bool] {
        guard let bus, !names.isEmpty, await BusPeer.isHere(Self.service, bus, within: Self.patience) else {
            return [:]
        }
        var known: [String: Bool] = [:]
        for name in names { known[name] = await isMetered(name, bus) }
        return known
    }

    private func isMetered(_ name: String, _ bus: SystemBus) async -> Bool? {
        let method = BusMethod(
            "GetDeviceByIpIface",
            on: Self.service,
            of: Self.service,
            at: "/org/freedesktop/NetworkManager"
        )
        let value = await bus.calls(within: Self.patience) { calls throws(BusError) in
            let path = try calls.call(method) { arguments throws(BusError) in
                try arguments.string(name)
            } answer: { answer throws(BusError) in
                try answer.objectPath()
            }
            return try calls.property("Metered", "u", on: "\(Self.service).Device", of: Self.service, at: path) {
                value throws(BusError) in try value.uint32()
            }
        }
        guard case .success(let number) = value else { return nil }
        return Self.meaning(number)
    }

    /// `NMMetered` of NetworkManager's D-Bus interface: yes, no, and its own guesses of both; 0 is unknown.
    static func meaning(_ number: UInt32) -> Bool? {
        switch number {
        case 1, 3: true
        case 2, 4: false
        default: nil
        }
    }
}
