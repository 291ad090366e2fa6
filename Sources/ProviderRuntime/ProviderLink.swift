package import ControlAPI
package import EventLoop
import Synchronization

/// A tunnel's way back to the runtime, used on the control queue alone.
package final class ProviderLink: Sendable {
    /// What was supplied, or why not.
    package typealias Answer = Result<Supplied, ControlError>
    /// Called on the control queue, later, never within the call that asked.
    package typealias Completion = @Sendable (Answer) -> Void

    package enum Signal: Sendable {
        /// Something in the state is different; told to tunneld soon, a few times a second at most.
        case stateChanged
        /// tunneld is asked for what a provider may not do itself; until somebody supplies it, each tunneld anew.
        case request(ProviderRequest.Kind, name: String?, port: Int?, Completion)
        /// The descriptors changed: tunneld gets those that it shall hold.
        case descriptorsChanged
        /// The tunnel has ended as it was told to; the process ends.
        case ended
        /// The tunnel can't go on, as its state says; the process ends.
        case failed(ControlError)
    }

    /// That of the control queue.
    package let executor: QueueExecutor
    private let receiver = Mutex<(@Sendable (Signal) -> Void)?>(nil)

    package init(executor: QueueExecutor) { self.executor = executor }

    /// Says who takes the signals; before, they go nowhere.
    package func connect(_ receive: @escaping @Sendable (Signal) -> Void) { receiver.withLock { $0 = receive } }

    package func send(_ signal: Signal) { receiver.withLock { $0 }?(signal) }
}
