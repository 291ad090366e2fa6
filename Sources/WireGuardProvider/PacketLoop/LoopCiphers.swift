import TunnelCrypto

/// What encrypts and what decrypts in a packet loop: apart, as the two directions are.
struct LoopCiphers {
    let sealing: CipherEngine
    let opening: CipherEngine

    init(allowing backEnds: Set<CipherEngine.BackEnd>) {
        sealing = CipherEngine(allowing: backEnds)
        opening = CipherEngine(allowing: backEnds)
    }
}
