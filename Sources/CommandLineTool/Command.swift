/// The commands of tunnelctl.
///
/// What each takes and means stands in the argument table (`CommandDescription.of`); what it does, in its own file.
package enum Command: String, CaseIterable, Sendable {
    case importFile = "import"
    case new, list, show, edit, set, enable, disable, export, rename, history, restore, remove
    case keychain, up, down, status, watch, stats, message, network, doctor, repair, version, help
}
