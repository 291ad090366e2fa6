/// The Varlink interface files, as `org.varlink.service.GetInterfaceDescription` serves them.
package enum InterfaceDescriptions {
    package static let configurations = text(PackageResources.org_tunneld_Configurations_varlink)
    package static let sessions = text(PackageResources.org_tunneld_Sessions_varlink)
    package static let keychain = text(PackageResources.org_tunneld_Keychain_varlink)
    package static let diagnostics = text(PackageResources.org_tunneld_Diagnostics_varlink)
    package static let network = text(PackageResources.org_tunneld_Network_varlink)
    package static let provider = text(PackageResources.org_tunneld_Provider_varlink)

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
