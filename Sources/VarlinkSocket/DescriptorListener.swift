import Dispatch
import EventLoop
package import LinuxSystem
import Synchronization

/// Listens for descriptor channels, until `stop` or its last reference goes.
package final class DescriptorListener: Sendable {
    private let listener: UnixListener
    private let accepted: @Sendable (DescriptorChannel) async -> Void
    private let queue = DispatchQueue(label: "descriptor-listener")
    private let acceptor = Mutex<ConnectionAcceptor?>(nil)

    /// - Parameters:
    ///   - listener: of kind `sequencedPacket`.
    ///   - accepted: is called for each new channel; one that isn't kept is closed. Check its `peer` before trusting it.
    /// - Throws: where there are no more descriptors.
    package init(
        _ listener: UnixListener,
        accepted: @escaping @Sendable (DescriptorChannel) async -> Void
    ) throws(SystemError) {
        self.listener = listener
        self.accepted = accepted
        let acceptor = try ConnectionAcceptor(listener.descriptor, on: queue) { @Sendable [weak self] in self?.accept()
        }
        self.acceptor.withLock { $0 = acceptor }
        acceptor.resume()
    }

    /// Stops listening and removes the socket's file; channels live on.
    package func stop() {
        acceptor.withLock { $0?.cancel() }
        listener.removeFile()
    }

    private func accept() {
        guard let descriptor = acceptor.withLock({ $0?.next() }) else { return }
        let shared = SharedDescriptor(descriptor)
        Task { [accepted] in
            if let channel = try? await DescriptorChannel.adopt(shared) { await accepted(channel) }
        }
    }
}
