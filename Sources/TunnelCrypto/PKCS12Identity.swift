import CCrypto

/// A private key with its certificate, out of PKCS#12 data (RFC 7292) that has been opened and found good.
///
/// Nothing of the key is kept here: this says what the data are, so that a fault is told when they are given and not when
/// they are needed.
package struct PKCS12Identity: Equatable, Sendable {
    /// The certificate's subject: "CN=laptop,O=Example".
    package let subject: String
    /// Validity of the certificate, in seconds since 1970.
    package let notBefore: Int64
    package let notAfter: Int64

    /// Opens PKCS#12 data.
    ///
    /// - Parameters:
    ///   - password: in UTF-8; may be empty.
    ///   - now: seconds since 1970.
    package init(opening data: RawSpan, password: borrowing SecretBytes, now: Int64) throws(PKCS12Fault) {
        defer { ERR_clear_error() }
        let file = try PKCS12File(data)
        try file.open(password: Self.terminated(password))
        guard file.hasKey else { throw .noPrivateKey }
        guard let certificate = unsafe file.certificate else { throw .noCertificate }
        guard let notBefore = unsafe Self.seconds(X509_get0_notBefore(certificate)),
            let notAfter = unsafe Self.seconds(X509_get0_notAfter(certificate))
        else { throw .damaged }
        guard now >= notBefore else { throw .notYetValid(notBefore) }
        guard now <= notAfter else { throw .expired(notAfter) }
        subject = unsafe Self.text(of: X509_get_subject_name(certificate))
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        // Counted from a fixed point in libcrypto's own calendar, so that no time zone comes in.
        guard let time = unsafe time, let epoch = unsafe ASN1_TIME_set(nil, 0) else { return nil }
        defer { unsafe ASN1_STRING_free(epoch) }
        var days: CInt = 0
        var seconds: CInt = 0
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let name = unsafe name, let memory = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free_all(memory) }
        guard unsafe X509_NAME_print_ex(memory, name, 0, tunneld_name_flags) >= 0 else { return "" }
        return unsafe String(unsafeUninitializedCapacity: 1024) { buffer in
            let count = unsafe BIO_read(memory, buffer.baseAddress, 1024)
            return Int(max(count, 0))
        }
    }

    /// The password with the zero byte behind it that libcrypto wants.
    private static func terminated(_ password: borrowing SecretBytes) throws(PKCS12Fault) -> SecretBytes {
        var bytes = SecretBytes(zeroCount: password.count + 1)
        let hasZero = unsafe password.bytes.withUnsafeBytes { source in
            bytes.withMutableBytes { target in
                unsafe target.withUnsafeMutableBytes { unsafe $0.copyMemory(from: source) }
            }
            return unsafe source.contains(0)
        }
        guard !hasZero else { throw .passwordHasZero }
        return bytes
    }
}
