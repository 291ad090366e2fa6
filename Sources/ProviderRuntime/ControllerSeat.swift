package import ControlAPI

/// Who controls this provider: one tunneld at a time, the one with the highest epoch (design, section 1).
package struct ControllerSeat: Sendable {
    /// The process that a controller's connections come from, as the kernel says.
    package typealias ProcessIdentifier = Int32

    private let nonce: String
    /// The highest epoch so far; nil before the first controller.
    package private(set) var epoch: UInt64?
    /// Whose calls are obeyed; nil before the first controller.
    package private(set) var holder: ProcessIdentifier?

    /// - Parameter nonce: from the launch file.
    package init(nonce: String) { self.nonce = nonce }

    /// Takes an `Attach`; afterwards the connections of every other process are to be closed.
    ///
    /// The same epoch again is the same tunneld that lost its connection.
    ///
    /// - Throws: `versionMismatch`, `permissionDenied` for a nonce that isn't the launch's, `unavailable` for an epoch
    ///   below the highest; nothing changes then.
    package mutating func claim(
        _ parameters: ProviderCalls.AttachParameters,
        from process: ProcessIdentifier
    ) throws(ControlError) {
        guard parameters.version == ProviderCalls.version else {
            throw ControlError(
                .versionMismatch,
                "Can't attach to the tunnel's provider.",
                reason: "It speaks version \(ProviderCalls.version) of \(ProviderCalls.interface), and tunneld version "
                    + "\(parameters.version).",
                remedy: "Stop the tunnel and start it again, so that it runs with the installed version."
            )
        }
        guard sameBytes(parameters.nonce, nonce) else {
            throw ControlError(
                .permissionDenied,
                "Can't attach to the tunnel's provider.",
                reason: "The nonce isn't that of the provider's launch.",
                remedy: "Only the tunneld whose runtime folder holds the launch file may attach."
            )
        }
        if let epoch, parameters.epoch < epoch {
            throw ControlError(
                .unavailable,
                "Can't attach to the tunnel's provider.",
                reason: "A newer tunneld controls it: its epoch is \(epoch), this one's \(parameters.epoch).",
                remedy: "End this tunneld; two must not run with one runtime folder."
            )
        }
        epoch = parameters.epoch
        holder = process
    }

    /// Whether a process's calls are obeyed.
    ///
    /// - Throws: `permissionDenied`, which says that `Attach` comes first, or that another tunneld has taken over.
    package func check(_ process: ProcessIdentifier) throws(ControlError) {
        guard holder != process else { return }
        throw ControlError(
            .permissionDenied,
            "The tunnel's provider doesn't obey this process.",
            reason: holder == nil ? "Nobody has attached yet." : "Another tunneld has attached since.",
            remedy: "Call \(ProviderCalls.interface).Attach first."
        )
    }

    /// Compares without telling by its duration how much was right.
    private func sameBytes(_ a: String, _ b: String) -> Bool {
        guard a.utf8.count == b.utf8.count else { return false }
        return zip(a.utf8, b.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
