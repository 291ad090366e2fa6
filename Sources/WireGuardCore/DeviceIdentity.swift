/// Our own key and what follows from it.
struct DeviceIdentity<C: Cryptography> {
    let privateKey: SecretKey
    let publicKey: PublicKey

    init?(privateKey: SecretKey) {
        guard let publicKey = PublicKey(C.publicKey(of: privateKey.bytes)) else { return nil }
        self.privateKey = privateKey
        self.publicKey = publicKey
    }
}
