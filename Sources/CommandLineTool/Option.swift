/// The options of tunnelctl, by the text that is typed.
package enum Option: String, CaseIterable, Sendable {
    // Of every command.
    case json = "--json"
    case socket = "--socket"
    case help = "--help"
    // Of some.
    case name = "--name"
    case strict = "--strict"
    case replace = "--replace"
    case address = "--address"
    case listenPort = "--listen-port"
    case dns = "--dns"
    case mtu = "--mtu"
    case peer = "--peer"
    case endpoint = "--endpoint"
    case allowedIPs = "--allowed-ips"
    case keepalive = "--keepalive"
    case conf = "--conf"
    case withSecrets = "--with-secrets"
    case force = "--force"
    case noWait = "--no-wait"
    case timeout = "--timeout"
    case all = "--all"
    case check = "--check"
}
