import CShims
import Dispatch
import EventLoop
import Netlink
import Synchronization

/// Calls a handler when this machine has joined or left a Wi-Fi network (nl80211's group "mlme").
///
/// Works in the network namespace of the threads that call it.
final class WirelessMonitor: Sendable {
    private struct Listening {
        let subscription: NetlinkSubscription
        let source: DescriptorSource
    }

    private let queue: DispatchQueue
    private let handler: @Sendable () -> Void
    private let listening = Mutex<Listening?>(nil)

    init(on queue: DispatchQueue, handler: @escaping @Sendable () -> Void) {
        self.queue = queue
        self.handler = handler
    }

    /// Listens, if the kernel has Wi-Fi: with the first device it may come later, so ask again when there are other links.
    ///
    /// Until then names are learnt with other changes alone, so that an error here is no one's.
    func listen() {
        guard listening.withLock({ $0 == nil }),
            let group = try? GenericNetlink().group(named: NL80211_MULTICAST_GROUP_MLME, of: NL80211_GENL_NAME),
            let subscription = try? NetlinkSubscription(family: NETLINK_GENERIC, groups: [group])
        else { return }
        let source = DescriptorSource(subscription.descriptor, .readable, canHangUp: false, on: queue) {
            [weak self] in self?.drain(subscription)
        }
        listening.withLock { $0 = Listening(subscription: subscription, source: source) }
        source.resume()
    }

    func cancel() { listening.withLock { $0?.source.cancel() } }

    private func drain(_ subscription: NetlinkSubscription) {
        var isNews = false
        do throws(NetlinkError) {
            while let messages = try subscription.receive() {
                if messages.contains(where: Self.tellsOfANetwork) { isNews = true }
            }
        } catch {
            // Something was lost.
            isNews = true
        }
        if isNews { handler() }
    }

    /// Whether a network was joined or left; the group tells of single frames, too.
    static func tellsOfANetwork(_ message: NetlinkMessage) -> Bool {
        guard let command = try? message.read(genlmsghdr.self).header.cmd else { return false }
        return [NL80211_CMD_CONNECT, NL80211_CMD_ROAM, NL80211_CMD_DISCONNECT].contains { $0.rawValue == command }
    }
}
