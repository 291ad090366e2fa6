import NetworkTypes

/// A peer's first message, opened as far as its static key: enough to know who claims to have sent it.
struct ResponderHandshake<C: Cryptography> {
    /// Who the sender claims to be; proven by `timestamp`.
    let claimedPeer: PublicKey
    private var noise: NoiseState<C>
    private let message: InitiationMessage

    /// Opens the static key.
    ///
    /// - Returns: nil where it doesn't open: not meant for our key, or forged.
    init?(_ message: InitiationMessage, identity: DeviceIdentity<C>) {
        guard var noise = NoiseState<C>(responder: identity.publicKey),
            let ephemeralShared = C.sharedSecret(identity.privateKey, message.ephemeral)
        else { return nil }
        noise.mixEphemeral(message.ephemeral)
        let key = noise.mixSecretForKey(ephemeralShared)
        guard let bytes = noise.open(message.sealedStatic, key: key), let peer = PublicKey(bytes) else { return nil }
        claimedPeer = peer
        self.noise = noise
        self.message = message
    }

    /// Opens the timestamp, which only the owner of the claimed key can have sealed.
    ///
    /// - Parameter staticShared: the shared secret of our key and the claimed one.
    mutating func timestamp(staticShared: SecretKey) -> Timestamp? {
        let key = noise.mixSecretForKey(staticShared)
        return noise.open(message.sealedTimestamp, key: key).flatMap { Timestamp(bytes: $0) }
    }

    /// Makes the response; call it after `timestamp`, once.
    ///
    /// - Returns: the session and the message without MACs; nil where the sender's keys are of small order.
    consuming func respond(
        ephemeral: SecretKey,
        localIndex: UInt32,
        presharedKey: SecretKey,
        now: Instant
    ) -> (keys: SessionKeys, message: ResponseMessage)? {
        guard let ephemeralShared = C.sharedSecret(ephemeral, message.ephemeral),
            let staticShared = C.sharedSecret(ephemeral, claimedPeer.bytes)
        else { return nil }
        let ephemeralPublic = C.publicKey(of: ephemeral.bytes)
        noise.mixEphemeral(ephemeralPublic)
        noise.mixSecret(ephemeralShared)
        noise.mixSecret(staticShared)
        let key = noise.mixPresharedKey(presharedKey)
        let sealedNothing = noise.seal([], key: key)
        let (receiveKey, sendKey) = noise.split()
        let keys = SessionKeys(
            sendKey: sendKey,
            receiveKey: receiveKey,
            localIndex: localIndex,
            remoteIndex: message.sender,
            isInitiator: false,
            createdAt: now
        )
        let response = ResponseMessage(
            sender: localIndex,
            receiver: message.sender,
            ephemeral: ephemeralPublic,
            sealedNothing: sealedNothing
        )
        return (keys, response)
    }
}
