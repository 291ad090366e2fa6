/// Where a person finds what was logged.
package enum LogHint {
    /// tunneld logs to the journal where its output is one, else to standard error.
    package static let tunneld = "tunneld's log (`journalctl -t tunneld`, or the terminal that it was started from)"
}
