import ControlAPI
import LinuxSystem

/// Of the exclusive configurations of one owner and group, one at most is enabled (design, section 3).
extension ConfigurationStore {
    /// Switches off the others, each as a generation of its own.
    func switchOffOthers(of configuration: Configuration) {
        guard configuration.enabled, configuration.exclusive else { return }
        for other in configurations() where Self.competes(other, with: configuration) {
            switchOff(other, for: configuration)
        }
    }

    /// Finishes what a crash left of that: the one that was saved last stays enabled.
    package func settleExclusives() {
        var last: [String: (configuration: Configuration, stamp: FileStamp)] = [:]
        for configuration in configurations() where configuration.enabled && configuration.exclusive {
            guard let stamp = try? FileStamp(of: file(configuration.identifier)) else { continue }
            let group = "\(configuration.owner.user) \(Self.isPersonal(configuration))"
            guard let present = last[group] else {
                last[group] = (configuration, stamp)
                continue
            }
            let isNewer = (stamp.seconds, stamp.nanoseconds) > (present.stamp.seconds, present.stamp.nanoseconds)
            switchOff(
                isNewer ? present.configuration : configuration,
                for: isNewer ? configuration : present.configuration
            )
            if isNewer { last[group] = (configuration, stamp) }
        }
    }

    private func switchOff(_ other: Configuration, for configuration: Configuration) {
        var off = other
        off.enabled = false
        do throws(ControlError) {
            _ = try save(Draft(configuration: off, generation: nil, places: SecretPlaces(keys: []), origin: .history))
        } catch {
            incidents.add(
                "\(configuration.name) is enabled and exclusive, but \(other.name) can't be switched off: "
                    + "\(error.reason ?? error.message)"
            )
        }
    }

    private static func competes(_ other: Configuration, with configuration: Configuration) -> Bool {
        other.identifier != configuration.identifier && other.enabled && other.exclusive
            && other.owner.user == configuration.owner.user && isPersonal(other) == isPersonal(configuration)
    }

    /// The group: what the system does itself, or what a provider does.
    private static func isPersonal(_ configuration: Configuration) -> Bool { configuration.type != .provider }
}
