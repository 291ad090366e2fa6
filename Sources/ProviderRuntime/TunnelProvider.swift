package import ControlAPI
package import LinuxSystem

/// A kind of tunnel, as the provider's process runs it: one object, on the control queue.
///
/// The runtime enters it there, synchronously; `unownedExecutor` is that of the link's executor.
package protocol TunnelProvider: Actor {
    /// What `--describe` prints; the runtime fills in the path of the program.
    static var descriptor: ProviderDescriptor { get }
    /// What `--validate` prints for the object in a configuration's `provider.configuration`.
    static func validate(_ configuration: JSONValue) -> ProviderDescriptor.Validation

    init(link: ProviderLink)

    /// Gets the tunnel ready but for its network settings.
    ///
    /// - Parameter descriptors: those that the call named, by label.
    /// - Returns: the network settings to apply.
    /// - Throws: why it can't be; nothing is left half done then, and another start may come.
    func start(
        _ parameters: ProviderCalls.StartParameters,
        descriptors: [String: SharedDescriptor]
    ) throws(ControlError) -> NetworkSettingsDocument

    /// Applies another configuration to the running tunnel, as differences.
    ///
    /// - Throws: why it can't be; nothing has changed then.
    func update(
        _ configuration: JSONValue,
        descriptors: [String: SharedDescriptor]
    ) throws(ControlError) -> NetworkSettingsDocument

    /// The network settings are in force: the tunnel is ready.
    func settingsApplied(mtu: Int) throws(ControlError)

    /// The network changed: what was given up or waits is tried at once.
    func pathChanged(_ change: ProviderCalls.PathChangedParameters)

    /// The machine is about to sleep, or may do without having said so: a clock that counts sleep tells.
    ///
    /// - Parameter done: to be called from any thread, once, when the tunnel is ready for it; the machine waits for that, but
    ///   only for a few seconds.
    func sleep(_ done: @escaping @Sendable () -> Void)

    /// The machine woke up, or didn't get to sleep: what holds no longer is dropped, and the other end is asked for an answer
    /// at once, and again until it gives one.
    func wake()

    /// Calls back, on any thread, as soon as whatever carries the packets has had its turn: never, where that hangs.
    func roundTrip(_ done: @escaping @Sendable () -> Void)

    /// Everything as it is at this moment.
    func state() -> ProviderState

    /// What tunneld shall hold duplicates of, by label.
    func descriptors() -> [(label: String, descriptor: SharedDescriptor)]

    /// Takes a message of a client's, which may come at any time, also before the start.
    ///
    /// - Parameter answer: to be called once, from any thread, now or later; nil bytes: nothing to say.
    func handle(_ message: [UInt8], answer: @escaping MessageAnswer)

    /// Ends the tunnel and wipes its keys; `ProviderLink.Signal.ended` follows.
    func stop(reason: String)
}

/// Takes the answer to a message.
package typealias MessageAnswer = @Sendable (Result<[UInt8]?, ControlError>) -> Void

extension TunnelProvider {
    package func handle(_ message: [UInt8], answer: @escaping MessageAnswer) { answer(.failure(.messagesUnsupported)) }
}

/// What tunneld supplied for a request.
package struct Supplied: Sendable {
    package var addresses: [String]
    package var listenPort: Int?
    package var descriptors: [String: SharedDescriptor]

    package init(addresses: [String] = [], listenPort: Int? = nil, descriptors: [String: SharedDescriptor] = [:]) {
        self.addresses = addresses
        self.listenPort = listenPort
        self.descriptors = descriptors
    }
}
