import TunnelCrypto

/// What encrypts and what decrypts in a packet loop: apart, as the two directions are.
struct LoopCiphers {
    let sealing: CipherEngine
    let opening: CipherEngine

    init(allowing libraries: Set<CipherEngine.Library>) {
        sealing = CipherEngine(allowing: libraries)
        opening = CipherEngine(allowing: libraries)
    }
}
