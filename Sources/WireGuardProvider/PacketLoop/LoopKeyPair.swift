import NetworkTypes
import TunnelCrypto
import WireGuardCore

/// A session as the packet loop uses it: a cipher for each direction, the counter and the replay window.
///
/// Sending and receiving state are apart, so that each may get a queue of its own one day.
final class LoopKeyPair {
    let keys: SessionKeys
    private(set) var sealer: TransportCipher
    private(set) var opener: TransportCipher
    var counter = SendCounter()
    var window = ReplayWindow()
    /// The peer owns its sessions, so it lives at least as long.
    unowned(unsafe) let peer: LoopPeer

    init(_ keys: SessionKeys, of peer: LoopPeer, with engines: LoopCiphers) {
        self.keys = keys
        unsafe self.peer = peer
        let (sendKey, receiveKey) = (keys.sendKey, keys.receiveKey)
        sealer = TransportCipher(key: sendKey.bytes, direction: .seal, with: engines.sealing)
        opener = TransportCipher(key: receiveKey.bytes, direction: .open, with: engines.opening)
    }

    /// Goes on with other engines.
    func use(_ engines: LoopCiphers) {
        let (sendKey, receiveKey) = (keys.sendKey, keys.receiveKey)
        sealer = TransportCipher(key: sendKey.bytes, direction: .seal, with: engines.sealing)
        opener = TransportCipher(key: receiveKey.bytes, direction: .open, with: engines.opening)
    }

    /// Whether nothing may be received under it any more.
    func isExpired(now: Instant) -> Bool {
        SessionLimits.isRejected(createdAt: keys.createdAt, counter: 0, now: now)
    }

    /// Whether nothing may be sent under it any more.
    func isRejected(now: Instant) -> Bool {
        SessionLimits.isRejected(createdAt: keys.createdAt, counter: counter.upcoming, now: now)
    }

    func isRekeyDueOnSend(now: Instant) -> Bool {
        SessionLimits.isRekeyDueOnSend(
            createdAt: keys.createdAt,
            isInitiator: keys.isInitiator,
            counter: counter.upcoming,
            now: now
        )
    }

    func isRekeyDueOnReceive(now: Instant) -> Bool {
        SessionLimits.isRekeyDueOnReceive(createdAt: keys.createdAt, isInitiator: keys.isInitiator, now: now)
    }
}
