import Dispatch
import NetworkTypes
import Synchronization
import WireGuardCore

/// Notices on their way to the control queue: handed over in batches, one call a batch, and bounded.
final class NoticeBox: Sendable {
    /// Handshake messages that may wait; a flood beyond is dropped.
    static let handshakeLimit = 1024
    private static let errorLimit = 64

    fileprivate struct State {
        var handshakes: [LoopNotice] = []
        var wanted: Set<PeerIdentifier> = []
        var timers: Set<PeerIdentifier> = []
        var roamed: [PeerIdentifier: Endpoint] = [:]
        var errors: [LoopNotice] = []
        /// Each answers something that the other side did, so they can't pile up.
        var others: [LoopNotice] = []
        var isScheduled = false
    }

    private let state = Mutex(State())
    private let queue: DispatchQueue
    private let handler: @Sendable ([LoopNotice]) -> Void

    init(queue: DispatchQueue, handler: @escaping @Sendable ([LoopNotice]) -> Void) {
        self.queue = queue
        self.handler = handler
    }

    /// Adds a notice; the control queue is called unless it has been already.
    ///
    /// - Returns: false where it had to be dropped.
    @discardableResult
    func add(_ notice: LoopNotice) -> Bool {
        let (added, mustSchedule) = state.withLock { state in
            guard state.add(notice) else { return (false, false) }
            defer { state.isScheduled = true }
            return (true, !state.isScheduled)
        }
        if mustSchedule { queue.async { self.deliver() } }
        return added
    }

    private func deliver() {
        let notices = state.withLock { state in
            defer { state = State() }
            return state.all
        }
        handler(notices)
    }
}

extension NoticeBox.State {
    fileprivate mutating func add(_ notice: LoopNotice) -> Bool {
        switch notice {
        case .handshake:
            guard handshakes.count < NoticeBox.handshakeLimit else { return false }
            handshakes.append(notice)
        case .handshakeWanted(let peer):
            wanted.insert(peer)
        case .timerWanted(let peer):
            timers.insert(peer)
        case .roamed(let peer, let endpoint):
            roamed[peer] = endpoint
        case .pathError:
            guard errors.count < NoticeBox.errorLimit else { return false }
            errors.append(notice)
        default:
            others.append(notice)
        }
        return true
    }

    fileprivate var all: [LoopNotice] {
        others + roamed.map { .roamed($0.key, $0.value) } + wanted.map { .handshakeWanted($0) }
            + timers.map { .timerWanted($0) } + handshakes + errors
    }
}
