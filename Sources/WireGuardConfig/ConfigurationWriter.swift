import NetworkTypes

/// Writes a configuration as a canonical `.conf` file: the keys in a fixed order, lists on as few lines as are readable.
package enum ConfigurationWriter {
    /// A list goes on on a line of its own beyond this, far below what any reader refuses.
    private static let longestLine = 1000

    /// The file without its secrets, which say so in comments.
    package static func text(of configuration: WireGuardConfiguration) -> String {
        var output: [UInt8] = []
        write(configuration, to: &output) { hook in
            hook.holdsKey(in: configuration)
                ? "# \(hook.event.rawValue) is left out, for it holds what looks like a key: export with --with-secrets to have it."
                : nil
        } secret: { _, key, output in
            output += "# \(key.rawValue) is left out: export with --with-secrets to have it.\n".utf8
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The file with its secrets, as bytes that the caller wipes.
    ///
    /// - Throws: `MissingSecret` where a reference has no secret.
    package static func bytes(
        of configuration: WireGuardConfiguration,
        with secrets: borrowing ConfigurationSecrets
    ) throws(MissingSecret) -> [UInt8] {
        var output: [UInt8] = []
        // In one piece: growing would leave pieces of secrets in freed memory.
        output.reserveCapacity(sizeBound(of: configuration))
        for reference in configuration.secretReferences where !secrets.holds(reference) {
            throw MissingSecret(reference: reference)
        }
        write(configuration, to: &output) { _ in
            nil
        } secret: { reference, key, output in
            output += "\(key.rawValue) = ".utf8
            secrets.withKey(for: reference) { KeyText.encode($0, to: &output) }
            output.append(UInt8(ascii: "\n"))
        }
        return output
    }

    /// A reference of the configuration that none of the given secrets has.
    package struct MissingSecret: Error, Equatable, Sendable, CustomStringConvertible {
        package let reference: String

        package var description: String { "there is no secret for the reference \(reference)" }
    }

    private static func sizeBound(of configuration: WireGuardConfiguration) -> Int {
        let perLine = longestLine + DomainText.longestName + FileKey.persistentKeepalive.rawValue.utf8.count
        let hooks = configuration.hooks.reduce(0) { $0 + $1.command.utf8.count + 16 }
        let domains = configuration.dns.searchDomains.count + configuration.dns.routeOnlyDomains.count
        let prefixes =
            configuration.addresses.count + configuration.excludedRoutes.count
            + configuration.peers.reduce(0) { $0 + $1.allowedIPs.count }
        let names = DomainText.longestName + 3
        return perLine + hooks + domains * names + (configuration.dns.servers.count + prefixes) * 64
            + configuration.peers.count * (names + 400) + 600
    }

    private static func write(
        _ configuration: WireGuardConfiguration,
        to output: inout [UInt8],
        replacing: (Hook) -> String?,
        secret: (_ reference: String, FileKey, inout [UInt8]) -> Void
    ) {
        output += "[Interface]\n".utf8
        secret(configuration.privateKeyReference, .privateKey, &output)
        put(.listenPort, configuration.listenPort, to: &output)
        put(.address, list: configuration.addresses.map(\.description), to: &output)
        if !configuration.disabledOffloads.isEmpty {
            let names = configuration.disabledOffloads.map(\.rawValue).sorted().joined(separator: ", ")
            output += "# disabledOffloads is left out, for a file has no key for it: \(names)\n".utf8
        }
        if !configuration.excludedRoutes.isEmpty {
            let prefixes = configuration.excludedRoutes.map(\.description).joined(separator: ", ")
            output += "# excludedRoutes is left out, for a file has no key for it: \(prefixes)\n".utf8
        }
        put(.dns, list: configuration.dns.words.map(\.description), to: &output)
        put(.mtu, configuration.mtu, to: &output)
        put(.table, configuration.table, to: &output)
        put(.firewallMark, configuration.firewallMark.map(NumberText.firewallMark), to: &output)
        put(.saveConfig, configuration.saveConfig, to: &output)
        for hook in configuration.hooks {
            output += "\(replacing(hook) ?? "\(hook.event.rawValue) = \(hook.command)")\n".utf8
        }
        for peer in configuration.peers {
            output += "\n[Peer]\n".utf8
            put(.publicKey, peer.publicKey, to: &output)
            if let reference = peer.presharedKeyReference { secret(reference, .presharedKey, &output) }
            put(.endpoint, peer.endpoint, to: &output)
            put(.allowedIPs, list: peer.allowedIPs.map(\.description), to: &output)
            put(.persistentKeepalive, peer.persistentKeepalive.map(NumberText.keepalive), to: &output)
        }
    }

    private static func put(_ key: FileKey, _ value: (some CustomStringConvertible)?, to output: inout [UInt8]) {
        guard let value else { return }
        output += "\(key.rawValue) = \(value)\n".utf8
    }

    /// Writes no line for an empty list.
    private static func put(_ key: FileKey, list items: [String], to output: inout [UInt8]) {
        var line = ""
        for item in items {
            if line.utf8.count + item.utf8.count > longestLine {
                output += "\(line)\n".utf8
                line = ""
            }
            line += line.isEmpty ? "\(key.rawValue) = \(item)" : ", \(item)"
        }
        if !line.isEmpty { output += "\(line)\n".utf8 }
    }
}
