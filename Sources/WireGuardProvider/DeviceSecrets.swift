import ControlAPI
import LinuxSystem
import WireGuardCore

/// The keys that came with a configuration, by the references that stand in it.
struct DeviceSecrets {
    private var keys: [String: SecretKey] = [:]

    /// Copies the keys out of a sealed memfd with a `SecretBundle`; nil for none.
    ///
    /// - Throws: `secretUnavailable`.
    init(bundle: SharedDescriptor?) throws(ControlError) {
        guard let bundle else { return }
        var found: [String: SecretKey] = [:]
        let isWhole: Bool
        do {
            isWhole = try unsafe MemoryFile.withContents(of: bundle.raw, limit: SecretBundle.maximumBytes) { bytes in
                unsafe SecretBundle.read(bytes) { label, secret in
                    found[label] = unsafe SecretKey(copying: RawSpan(_unsafeBytes: secret))
                }
            }
        } catch {
            throw Self.failure("The secrets that came with the configuration can't be read: \(error).", field: nil)
        }
        guard isWhole else { throw Self.failure("The secrets that came with the configuration are cut.", field: nil) }
        keys = found
    }

    /// The key that a reference stands for.
    ///
    /// - Throws: `secretUnavailable`, with the field.
    func key(_ reference: String, field: String) throws(ControlError) -> SecretKey {
        guard let key = keys[reference] else {
            throw Self.failure("No key of 32 bytes came for the reference \(reference).", field: field)
        }
        return key
    }

    private static func failure(_ reason: String, field: String?) -> ControlError {
        ControlError(
            .secretUnavailable,
            "The tunnel's keys aren't there.",
            reason: reason,
            remedy: "Import the configuration again, with its keys.",
            field: field
        )
    }
}
