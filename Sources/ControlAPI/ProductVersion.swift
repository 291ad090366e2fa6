/// What the programs of this package say of themselves (`org.varlink.service.GetInfo`, `tunnelctl version`).
package enum ProductVersion {
    package static let vendor = "tunneld"
    package static let product = "tunneld"
    package static let version = "0.1.0"
}
