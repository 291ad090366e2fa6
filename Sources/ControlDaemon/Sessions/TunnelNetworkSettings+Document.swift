import ControlAPI
import HostNetwork
import LinuxSystem
import NetworkTypes

extension TunnelNetworkSettings {
    /// Reads what a provider asked for.
    ///
    /// - Throws: `providerFailed` for what isn't an address, a prefix, a table or an endpoint.
    init(_ document: NetworkSettingsDocument, interface: InterfaceIdentity, port: Int?) throws(ControlError) {
        self.init(interface: interface)
        for text in document.addresses { addresses.append(try Self.prefix(text, "address")) }
        for text in document.routes { routes.append(try Self.prefix(text, "route")) }
        for text in document.endpoints {
            guard let endpoint = Endpoint(text) else { throw Self.wrong("endpoint", text) }
            endpoints.append(endpoint)
        }
        table = try Self.table(document.table)
        mtu = document.mtu
        outerPort = port.flatMap { UInt16(exactly: $0) }
    }

    private static func prefix(_ text: String, _ kind: String) throws(ControlError) -> IPPrefix {
        guard let prefix = IPPrefix(text) else { throw wrong(kind, text) }
        return prefix
    }

    private static func table(_ text: String) throws(ControlError) -> Table {
        switch text {
        case "auto": return .automatic
        case "off": return .off
        default:
            if let number = UInt32(text), number > 0 { return .number(number) }
            if let number = RoutingTableNames.number(of: text) { return .number(number) }
            throw ControlError(
                .networkSettingsFailed,
                "There is no routing table \(text.prefix(64)).",
                reason: "Neither a number, nor a name in /etc/iproute2/rt_tables.",
                remedy: "Name the table there, or use its number."
            )
        }
    }

    private static func wrong(_ kind: String, _ text: String) -> ControlError {
        ControlError(
            .providerFailed,
            "The provider asked for settings that make no sense.",
            reason: "\"\(text.prefix(64))\" is no \(kind).",
            remedy: "Install the provider and tunneld of the same version."
        )
    }
}

/// The names of routing tables (ip-route(8)): a file, and files of packages beside it.
enum RoutingTableNames {
    static func number(
        of name: String,
        files: [String] = ["/etc/iproute2/rt_tables", "/usr/share/iproute2/rt_tables"],
        folders: [String] = ["/etc/iproute2/rt_tables.d", "/usr/share/iproute2/rt_tables.d"]
    ) -> UInt32? {
        let more = folders.flatMap { folder in
            ((try? FileSystem.names(inFolder: folder)) ?? []).filter { $0.hasSuffix(".conf") }.sorted().map {
                "\(folder)/\($0)"
            }
        }
        for path in files + more {
            guard let bytes = try? FileSystem.contents(ofFile: path, limit: 1 << 20) else { continue }
            if let number = find(name, in: String(decoding: bytes, as: UTF8.self)) { return number }
        }
        return nil
    }

    static func find(_ name: String, in text: String) -> UInt32? {
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            guard words.count == 2, words[1] == name else { continue }
            if words[0].hasPrefix("0x") { return UInt32(words[0].dropFirst(2), radix: 16) }
            return UInt32(words[0])
        }
        return nil
    }
}
