/// The commands of tunnelctl.
///
/// What each takes and means stands in the argument table (`CommandDescription.of`); what it does, in its own file.
package enum Command: String, CaseIterable, Sendable {
    case importFile = "import"
    case new, list, show, export, rename, remove, up, down, status, watch, stats, doctor, version, help
}
