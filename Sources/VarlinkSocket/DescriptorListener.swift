import Dispatch
import EventLoop
package import LinuxSystem
import Synchronization

/// Listens for descriptor channels, until `stop` or its last reference goes.
package final class DescriptorListener: Sendable {
    private let listener: UnixListener
    private let accepted: @Sendable (DescriptorChannel) async -> Void
    private let queue = DispatchQueue(label: "descriptor-listener")
    private let source = Mutex<DescriptorSource?>(nil)

    /// - Parameters:
    ///   - listener: of kind `sequencedPacket`.
    ///   - accepted: is called for each new channel; one that isn't kept is closed. Check its `peer` before trusting it.
    package init(_ listener: UnixListener, accepted: @escaping @Sendable (DescriptorChannel) async -> Void) {
        self.listener = listener
        self.accepted = accepted
        let source = DescriptorSource(listener.descriptor, .readable, on: queue) { @Sendable [weak self] in
            self?.accept()
        }
        self.source.withLock { $0 = source }
        source.resume()
    }

    /// Stops listening and removes the socket's file; channels live on.
    package func stop() {
        source.withLock { $0?.cancel() }
        listener.removeFile()
    }

    private func accept() {
        do throws(SystemError) {
            guard let descriptor = try UnixSocket.accept(on: listener.descriptor.raw) else { return }
            let shared = SharedDescriptor(descriptor)
            Task { [accepted] in
                if let channel = try? await DescriptorChannel.adopt(shared) { await accepted(channel) }
            }
        } catch {
            // Out of descriptors or memory: the connection goes on waiting. Asking again at once would only spin.
            source.withLock { $0?.suspend() }
            queue.asyncAfter(deadline: .now() + 1) { @Sendable [weak self] in
                self?.source.withLock { $0?.resume() }
            }
        }
    }
}
