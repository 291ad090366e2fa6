extension CommandDescription {
    /// The commands that change what is stored, and take a change back.
    static func ofChanges(_ command: Command) -> CommandDescription {
        switch command {
        case .edit:
            CommandDescription(
                command,
                "Change a configuration in an editor.",
                operands: [name],
                options: [OptionDescription(.conf, "As a WireGuard .conf file; else as JSON, which has every key.")],
                details: [
                    "The editor is $VISUAL, else $EDITOR. Secrets don't stand in the file; they stay what they are. What "
                        + "can't be saved is opened again with the error above it; leave it unchanged to give up. "
                        + "Nothing that was typed is lost: the file's path is told.",
                    "A file that wasn't changed saves nothing. If somebody else saved meanwhile, you are asked.",
                ]
            )
        case .set: set
        case .enable: CommandDescription(command, "Let a configuration be started.", operands: [name])
        case .disable:
            CommandDescription(
                command,
                "Keep a configuration from being started, and stop its tunnel.",
                operands: [name]
            )
        case .history:
            CommandDescription(
                command,
                "List the stored generations of a configuration.",
                operands: [name],
                details: ["Works for a configuration whose file was damaged or removed by somebody else, too."]
            )
        default:
            CommandDescription(
                command,
                "Make an earlier generation the present one again.",
                operands: [name, OperandDescription("GENERATION", .text)],
                details: [
                    "It is stored as a new generation, with the secrets that it had. Brings back a configuration whose file "
                        + "was damaged or removed by somebody else."
                ]
            )
        }
    }

    private static var set: CommandDescription {
        CommandDescription(
            .set,
            "Change keys of a configuration.",
            operands: [name, OperandDescription("KEY=VALUE", .text, repeats: true)],
            details: [
                "true or false: enabled, exclusive, startAtBoot, includeAllNetworks, excludeLocalNetworks, enforceRoutes, "
                    + "persistentBlock, disconnectOnSleep, nestedIn, onDemand.enabled.",
                "Text, or nothing to unset it: name, serverAddress, username, passwordReference, owner.application, "
                    + "provider.identifier.",
                "JSON: onDemand.rules='[{\"action\":\"connect\",\"interfaceTypeMatch\":\"wiFi\"}]'; the rules are tried in "
                    + "this order.",
                "The provider's own keys begin with provider.configuration; of WireGuard: addresses, "
                    + "excludedRoutes, disabledOffloads, dns.servers, dns.searchDomains, dns.routeOnlyDomains, "
                    + "dns.dnsOverTLS, dns.dnssec, mtu, listenPort, table, peers[0].endpoint, "
                    + "peers[0].allowedIPs, peers[0].persistentKeepalive. Lists have commas, or are JSON.",
            ]
        )
    }
}
