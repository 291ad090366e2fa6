import ControlAPI

/// The network for a person.
enum NetworkText {
    static func lines(_ network: NetworkView) -> [StyledText] {
        var table = TextTable(["LINK", "KIND", "STATE", "MTU", "ADDRESSES"])
        for link in network.links {
            let isPrimary = link.name == network.primaryInterface
            table.append([
                StyledText(link.name, isPrimary ? .bold : .plain), StyledText(kind(link)), state(link),
                StyledText("\(link.mtu)"), StyledText(link.addresses.joined(separator: ", ")),
            ])
        }
        var lines = table.lines
        for route in network.defaultRoutes {
            let gateway = route.gateway.map { " via \($0)" } ?? ""
            let isUsed = route.interface == network.primaryInterface
            lines.append(
                "default route \(route.family) by \(route.interface, isUsed ? .bold : .plain)\(gateway), "
                    + "metric \(route.metric)"
            )
        }
        if network.primaryInterface == nil {
            lines.append("\("no way out: no default route leads to a link that carries packets", .attention)")
        }
        lines += names("this machine", network.dnsServers, network.searchDomains, [])
        for link in network.links {
            lines += names(link.name, link.dnsServers, link.searchDomains, link.routeOnlyDomains)
        }
        return lines
    }

    private static func kind(_ link: LinkView) -> String {
        var words = [link.kind == .wifi ? "Wi-Fi" : link.kind.rawValue]
        if let name = link.wirelessName { words.append("\"\(name)\"") }
        if let driver = link.driver, link.kind == .virtual || link.kind == .other { words.append("(\(driver))") }
        switch link.metered {
        case true?: words.append("metered")
        case false?: words.append("not metered")
        case nil: break
        }
        return words.joined(separator: " ")
    }

    private static func state(_ link: LinkView) -> StyledText {
        guard link.up else { return StyledText("off", .dim) }
        return link.carrier ? StyledText("up", .good) : StyledText("no carrier", .attention)
    }

    private static func names(
        _ owner: String,
        _ servers: [String],
        _ search: [String],
        _ routeOnly: [String]
    ) -> [StyledText] {
        var parts: [String] = []
        if !servers.isEmpty { parts.append("asks \(servers.joined(separator: ", "))") }
        if !search.isEmpty { parts.append("searches \(search.joined(separator: ", "))") }
        if !routeOnly.isEmpty { parts.append("is asked for \(routeOnly.joined(separator: ", "))") }
        return parts.isEmpty ? [] : ["names: \(owner) \(parts.joined(separator: "; "))"]
    }

    static func change(_ change: NetworkChangeView) -> StyledText {
        let value = change.value ?? ""
        let text: String =
            switch change.kind {
            case "linkAdded": "there is a link of this name now"
            case "linkRemoved": "the link is gone"
            case "linkRenamed": "the link was called \(value)"
            case "linkUp": "switched on"
            case "linkDown": "switched off"
            case "carrierFound": "carries packets"
            case "carrierLost": "carries no packets"
            case "mtuChanged": "MTU \(value)"
            case "addressAdded": "has the address \(value)"
            case "addressRemoved": "has lost the address \(value)"
            case "nameServersChanged": value.isEmpty ? "asks no name server" : "asks the name servers \(value)"
            case "meteredChanged": value.isEmpty ? "nobody knows whether it is metered" : "metered: \(value)"
            case "wirelessNameChanged": value.isEmpty ? "is in no Wi-Fi network" : "is in the Wi-Fi network \(value)"
            case "defaultRoutesChanged": value.isEmpty ? "no default route is left" : "default routes: \(value)"
            case "primaryLinkChanged":
                change.interface == nil ? "there is no way out" : "is the way out now"
            // Of a later tunneld.
            default: value.isEmpty ? change.kind : "\(change.kind): \(value)"
            }
        return "\(change.interface ?? "this machine", .bold): \(text)"
    }
}
