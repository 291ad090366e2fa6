package import ControlAPI
import WireGuardConfig

/// What this provider is, and its check of a configuration.
extension WireGuardTunnel {
    package static let descriptor = ProviderDescriptor(
        identifier: "org.tunneld.wireguard",
        executable: "",
        name: "WireGuard",
        protocol: ProviderCalls.version,
        principalClass: nil,
        secretKeys: ["privateKeyReference", "presharedKeyReference"],
        // A command may hold a key.
        ownerKeys: ["hooks"],
        memoryLimit: nil
    )

    package static func validate(_ configuration: JSONValue) -> ProviderDescriptor.Validation {
        ProviderDescriptor.Validation(
            errors: WireGuardConfiguration.validate(configuration).map {
                ProviderDescriptor.Fault(field: $0.field, message: $0.message)
            },
            warnings: []
        )
    }
}
