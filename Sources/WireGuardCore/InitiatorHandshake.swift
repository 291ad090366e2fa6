import NetworkTypes

/// A handshake that we started and that waits for its response.
struct InitiatorHandshake<C: Cryptography> {
    let localIndex: UInt32
    private let noise: NoiseState<C>
    private let ephemeral: SecretKey

    /// Makes the first message.
    ///
    /// - Parameter staticShared: the shared secret of our key and the peer's.
    /// - Returns: the handshake and the message without MACs; nil where the peer's key is of small order.
    static func start(
        _ identity: DeviceIdentity<C>,
        peer: PublicKey,
        staticShared: SecretKey,
        ephemeral: SecretKey,
        localIndex: UInt32,
        timestamp: Timestamp
    ) -> (handshake: Self, message: InitiationMessage)? {
        guard var noise = NoiseState<C>(responder: peer),
            let ephemeralShared = C.sharedSecret(ephemeral, peer.bytes)
        else { return nil }
        let ephemeralPublic = C.publicKey(of: ephemeral.bytes)
        noise.mixEphemeral(ephemeralPublic)
        let staticKey = noise.mixSecretForKey(ephemeralShared)
        let sealedStatic = noise.seal(identity.publicKey.bytes, key: staticKey)
        let timestampKey = noise.mixSecretForKey(staticShared)
        let sealedTimestamp = noise.seal(timestamp.bytes, key: timestampKey)
        let message = InitiationMessage(
            sender: localIndex,
            ephemeral: ephemeralPublic,
            sealedStatic: sealedStatic,
            sealedTimestamp: sealedTimestamp
        )
        return (Self(localIndex: localIndex, noise: noise, ephemeral: ephemeral), message)
    }

    /// Takes the response.
    ///
    /// - Returns: the session; nil where the response isn't authentic: forged, or made with another pre-shared key.
    func finish(
        _ response: ResponseMessage,
        identity: DeviceIdentity<C>,
        presharedKey: SecretKey,
        now: Instant
    ) -> SessionKeys? {
        var noise = noise
        noise.mixEphemeral(response.ephemeral)
        guard let ephemeralShared = C.sharedSecret(ephemeral, response.ephemeral),
            let staticShared = C.sharedSecret(identity.privateKey, response.ephemeral)
        else { return nil }
        noise.mixSecret(ephemeralShared)
        noise.mixSecret(staticShared)
        let key = noise.mixPresharedKey(presharedKey)
        guard noise.open(response.sealedNothing, key: key) != nil else { return nil }
        let (sendKey, receiveKey) = noise.split()
        return SessionKeys(
            sendKey: sendKey,
            receiveKey: receiveKey,
            localIndex: localIndex,
            remoteIndex: response.sender,
            isInitiator: true,
            createdAt: now
        )
    }
}
