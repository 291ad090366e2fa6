package import ControlAPI
package import LinuxSystem

/// Starts the process of a tunnel's provider, so that it outlives tunneld.
package protocol ProviderLauncher: Sendable {
    /// Starts a provider with a folder of its own, in which it finds its `LaunchDocument` and makes its sockets.
    ///
    /// - Throws: `providerFailed` with what could not be done and the remedy; nothing is left then.
    func launch(_ launch: ProviderLaunch) async throws(ControlError) -> LaunchedProvider

    /// Where the provider of a configuration has its sockets.
    func folder(of identifier: String) -> String

    /// The configurations whose providers have a folder.
    func identifiers() -> [String]

    /// Ends whatever runs for a configuration, and removes its folder. What isn't there is no error.
    ///
    /// - Parameter user: the user that a provider ran as, where it is known; a later one may have had another.
    func clear(_ identifier: String, user: UInt32?) async
}

/// What to launch.
package struct ProviderLaunch: Sendable {
    package var descriptor: ProviderDescriptor
    /// The configuration's identifier.
    package var identifier: String
    package var nonce: String
    /// The user that an earlier provider of the same session ran as; nil for the first.
    package var user: UInt32?

    package init(descriptor: ProviderDescriptor, identifier: String, nonce: String, user: UInt32?) {
        self.descriptor = descriptor
        self.identifier = identifier
        self.nonce = nonce
        self.user = user
    }
}

/// A provider's process.
package struct LaunchedProvider: Sendable {
    package let process: ProcessDescriptor
    package let identity: ProcessIdentity
    package let user: UInt32
    /// Its folder.
    package let folder: String

    package init(process: ProcessDescriptor, identity: ProcessIdentity, user: UInt32, folder: String) {
        self.process = process
        self.identity = identity
        self.user = user
        self.folder = folder
    }
}
