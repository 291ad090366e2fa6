import CShims
import Glibc

/// What a link is made of, as far as it matters to a person.
package enum LinkKind: String, Hashable, Sendable, CaseIterable {
    /// Ethernet by cable, also several bound together or a VLAN of one.
    case wired
    case wifi
    case cellular
    case loopback
    /// The interface of a tunnel of tunneld's.
    case tunnel
    /// A link in software that leads to no hardware of this machine: a container's, another VPN's.
    case virtual
    case other
}

extension LinkKind {
    /// What is known of a link.
    struct Facts: Hashable, Sendable {
        var isLoopback = false
        var isOwnTunnel = false
        /// `ARPHRD_ETHER` and the like.
        var hardwareType = UInt16(ARPHRD_ETHER)
        /// `IFLA_INFO_KIND`.
        var driver: String?
        /// `DEVTYPE` of the device's uevent: "wlan", "wwan", "bridge"; nil where it has none.
        var deviceType: String?
        /// Whether sysfs has the folder "wireless" or the link "phy80211".
        var isWireless = false
        /// Whether there is hardware behind it (the link "device" in sysfs); nil where sysfs doesn't say.
        var hasDevice: Bool?
        /// The kinds of the links that it stands on.
        var lower: [LinkKind] = []
    }

    init(_ facts: Facts) {
        if facts.isLoopback {
            self = .loopback
        } else if facts.isOwnTunnel {
            self = .tunnel
        } else if facts.isWireless || facts.deviceType == "wlan" {
            self = .wifi
        } else if facts.deviceType == "wwan" || facts.driver == "wwan" {
            self = .cellular
        } else if let lower = facts.lower.first(where: { [.wired, .wifi, .cellular].contains($0) }),
            facts.driver.map(Self.standsForItsLower) ?? true
        {
            self = lower
        } else if facts.driver != nil || facts.hasDevice == false {
            self = .virtual
        } else {
            self = Int32(facts.hardwareType) == ARPHRD_ETHER ? .wired : .other
        }
    }

    /// Whether traffic on such a link is that of the link below, and no tunnel through it.
    private static func standsForItsLower(_ driver: String) -> Bool {
        ["bond", "team", "bridge", "vlan", "macvlan", "ipvlan", "macsec", "hsr"].contains(driver)
    }
}
