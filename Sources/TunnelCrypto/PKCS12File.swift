import CCrypto

/// PKCS#12 data as libcrypto reads them, walked bag by bag, so that the work which they ask for stays bounded.
@safe final class PKCS12File {
    private let file: OpaquePointer
    private var key: OpaquePointer?
    private var certificates = unsafe [OpaquePointer]()

    /// Rounds of key derivation in all: three times what any program is known to write, a second's work.
    static let iterationLimit = 2_000_000
    /// Bags within bags.
    private static let depthLimit = 4

    /// Old files (RC2, 3DES) need the legacy provider, which nothing else in the process shall offer.
    ///
    /// Never freed: it lives as long as the process.
    nonisolated(unsafe) private static let legacyContext: OpaquePointer? = {
        guard let library = unsafe OSSL_LIB_CTX_new() else { return nil }
        _ = unsafe OSSL_PROVIDER_load(library, "default")
        _ = unsafe OSSL_PROVIDER_try_load(library, "legacy", 1)
        return unsafe library
    }()

    /// - Throws: `damaged` where the data are no PKCS#12, or more follows.
    init(_ data: RawSpan) throws(PKCS12Fault) {
        guard let library = unsafe Self.legacyContext else { throw .unsupported }
        var file = unsafe PKCS12_init_ex(NID_pkcs7_data, library, nil)
        let isWhole = unsafe data.withUnsafeBytes { bytes in
            guard let start = unsafe bytes.base else { return false }
            var next: UnsafePointer<UInt8>? = unsafe start
            // After a failure libcrypto has freed the object.
            guard unsafe d2i_PKCS12(&file, &next, bytes.count) != nil else {
                unsafe file = nil
                return false
            }
            return unsafe next == start + bytes.count
        }
        guard let file = unsafe file else { throw .damaged }
        unsafe self.file = file
        guard isWhole else { throw .damaged }
    }

    deinit {
        unsafe PKCS12_free(file)
        unsafe EVP_PKEY_free(key)
        unsafe certificates.forEach { unsafe X509_free($0) }
    }

    /// Whether there is a private key, once it is open.
    var hasKey: Bool { unsafe key != nil }

    /// The certificate that belongs to the key; it lives as long as this object.
    var certificate: OpaquePointer? {
        guard let key = unsafe key else { return nil }
        return unsafe certificates.first { unsafe X509_check_private_key($0, key) == 1 }
    }

    /// Decrypts everything.
    ///
    /// - Parameter password: with a zero byte behind it.
    func open(password: borrowing SecretBytes) throws(PKCS12Fault) {
        var budget = Self.iterationLimit
        // With a proven password, what can't be decrypted is encrypted in a way that libcrypto doesn't offer.
        let failure: PKCS12Fault = try isProven(password, &budget) ? .unsupported : .wrongPassword
        guard let parts = unsafe PKCS12_unpack_authsafes(file) else { throw .damaged }
        defer { unsafe Self.free(parts) { unsafe PKCS7_free($0.assumingMemoryBound(to: PKCS7.self)) } }
        let partCount = unsafe OPENSSL_sk_num(parts)
        for index in 0..<partCount {
            guard let part = unsafe OPENSSL_sk_value(parts, index)?.assumingMemoryBound(to: PKCS7.self) else {
                continue
            }
            let bags: OpaquePointer?
            switch unsafe OBJ_obj2nid(part.pointee.type) {
            case NID_pkcs7_data: unsafe bags = PKCS12_unpack_p7data(part)
            case NID_pkcs7_encrypted:
                guard let content = unsafe part.pointee.d.encrypted?.pointee.enc_data else { throw .damaged }
                try unsafe charge(content.pointee.algorithm, &budget)
                unsafe bags = Self.withPassword(password) { unsafe PKCS12_unpack_p7encdata(part, $0, $1) }
                if unsafe bags == nil { throw failure }
            default: continue
            }
            guard let bags = unsafe bags else { throw .damaged }
            defer { unsafe Self.free(bags) { unsafe PKCS12_SAFEBAG_free(OpaquePointer($0)) } }
            try unsafe take(bags, password, failure, depth: 0, &budget)
        }
    }

    private func take(
        _ bags: OpaquePointer,
        _ password: borrowing SecretBytes,
        _ failure: PKCS12Fault,
        depth: Int,
        _ budget: inout Int
    ) throws(PKCS12Fault) {
        guard depth < Self.depthLimit else { throw .damaged }
        let bagCount = unsafe OPENSSL_sk_num(bags)
        for index in 0..<bagCount {
            guard let value = unsafe OPENSSL_sk_value(bags, index) else { continue }
            let bag = OpaquePointer(value)
            switch unsafe PKCS12_SAFEBAG_get_nid(bag) {
            case NID_keyBag:
                if let info = unsafe PKCS12_SAFEBAG_get0_p8inf(bag) { unsafe take(key: info) }
            case NID_pkcs8ShroudedKeyBag:
                var algorithm: UnsafePointer<X509_ALGOR>?
                unsafe X509_SIG_get0(PKCS12_SAFEBAG_get0_pkcs8(bag), &algorithm, nil)
                try unsafe charge(algorithm, &budget)
                let info = unsafe Self.withPassword(password) {
                    unsafe PKCS12_decrypt_skey_ex(bag, $0, $1, Self.legacyContext, nil)
                }
                guard let info = unsafe info else { throw failure }
                unsafe take(key: info)
                unsafe PKCS8_PRIV_KEY_INFO_free(info)
            case NID_certBag:
                if unsafe PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate,
                    let certificate = unsafe PKCS12_SAFEBAG_get1_cert(bag)
                {
                    unsafe certificates.append(certificate)
                }
            case NID_safeContentsBag:
                if let inner = unsafe PKCS12_SAFEBAG_get0_safes(bag) {
                    try unsafe take(inner, password, failure, depth: depth + 1, &budget)
                }
            default: continue
            }
        }
    }

    /// Keeps the first key; more than one is of no use to anybody here.
    private func take(key info: OpaquePointer) {
        guard unsafe self.key == nil else { return }
        unsafe self.key = EVP_PKCS82PKEY_ex(info, Self.legacyContext, nil)
    }

    /// Checks the password by the data's own code of authentication.
    ///
    /// - Returns: false where they have none.
    private func isProven(_ password: borrowing SecretBytes, _ budget: inout Int) throws(PKCS12Fault) -> Bool {
        guard unsafe PKCS12_mac_present(file) == 1 else { return false }
        var rounds: UnsafePointer<ASN1_INTEGER>?
        unsafe PKCS12_get0_mac(nil, nil, nil, &rounds, file)
        // Without a number it is one.
        if let rounds = unsafe rounds { try unsafe charge(rounds: rounds, &budget) }
        let file = unsafe file
        guard unsafe Self.withPassword(password, { unsafe PKCS12_verify_mac(file, $0, $1) == 1 }) else {
            throw .wrongPassword
        }
        return true
    }

    // MARK: Bounded work

    private func charge(rounds: UnsafePointer<ASN1_INTEGER>, _ budget: inout Int) throws(PKCS12Fault) {
        let count = unsafe ASN1_INTEGER_get(rounds)
        guard count >= 0 else { throw .damaged }
        guard count <= budget else { throw .tooManyIterations }
        budget -= count
    }

    /// Takes the rounds that an encryption asks for from the budget, before it is done.
    private func charge(_ algorithm: UnsafePointer<X509_ALGOR>?, _ budget: inout Int) throws(PKCS12Fault) {
        guard let (name, sequence) = unsafe Self.parts(of: algorithm) else { throw .damaged }
        guard name == NID_pbes2 else {
            guard let parameters = unsafe Self.decode(sequence, d2i_PBEPARAM) else { throw .unsupported }
            defer { unsafe PBEPARAM_free(parameters) }
            guard let rounds = unsafe parameters.pointee.iter else { return }
            return try unsafe charge(rounds: rounds, &budget)
        }
        guard let parameters = unsafe Self.decode(sequence, d2i_PBE2PARAM) else { throw .damaged }
        defer { unsafe PBE2PARAM_free(parameters) }
        // Of the others, scrypt asks for memory and work by numbers of its own; nobody writes PKCS#12 with it.
        guard let (function, inner) = unsafe Self.parts(of: parameters.pointee.keyfunc), function == NID_id_pbkdf2
        else { throw .unsupported }
        guard let derivation = unsafe Self.decode(inner, d2i_PBKDF2PARAM) else { throw .damaged }
        defer { unsafe PBKDF2PARAM_free(derivation) }
        guard let rounds = unsafe derivation.pointee.iter else { throw .damaged }
        try unsafe charge(rounds: rounds, &budget)
    }

    /// An algorithm's number and the bytes of its parameters; nil where they are no sequence.
    private static func parts(of algorithm: UnsafePointer<X509_ALGOR>?) -> (Int32, UnsafePointer<ASN1_STRING>)? {
        guard let algorithm = unsafe algorithm else { return nil }
        var object: OpaquePointer?
        var kind: Int32 = 0
        var value: UnsafeRawPointer?
        unsafe X509_ALGOR_get0(&object, &kind, &value, algorithm)
        guard kind == V_ASN1_SEQUENCE, let value = unsafe value else { return nil }
        return unsafe (OBJ_obj2nid(object), value.assumingMemoryBound(to: ASN1_STRING.self))
    }

    private static func decode<T>(
        _ sequence: UnsafePointer<ASN1_STRING>,
        _ decoder: (
            UnsafeMutablePointer<UnsafeMutablePointer<T>?>?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int
        ) -> UnsafeMutablePointer<T>?
    ) -> UnsafeMutablePointer<T>? {
        var next = unsafe ASN1_STRING_get0_data(sequence)
        return unsafe decoder(nil, &next, Int(ASN1_STRING_length(sequence)))
    }

    // MARK: Pointers

    private static func withPassword<R>(
        _ password: borrowing SecretBytes,
        _ body: (UnsafePointer<CChar>?, Int32) -> R
    ) -> R {
        let count = Int32(password.count - 1)
        return unsafe password.bytes.withUnsafeBytes { bytes in
            unsafe body(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), count)
        }
    }

    private static func free(_ stack: OpaquePointer, _ element: (UnsafeMutableRawPointer) -> Void) {
        while let value = unsafe OPENSSL_sk_pop(stack) { unsafe element(value) }
        unsafe OPENSSL_sk_free(stack)
    }
}
