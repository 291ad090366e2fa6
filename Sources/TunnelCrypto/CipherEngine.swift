import CShims
import Glibc

/// What encrypts packets: one of the libraries that can, with what it keeps for one caller.
///
/// An engine belongs to one queue at a time, as do all ciphers that were made with it. libcrypto is always there;
/// intel-ipsec-mb takes less than half the time for a packet where the processor has AVX-512, and less for short ones where
/// it has AVX2. That library is opened when the first engine is made, where the machine has it.
@safe package final class CipherEngine {
    /// A library that can encrypt packets.
    package enum BackEnd: String, Sendable, CaseIterable {
        case libcrypto
        case ipsecMB = "intel-ipsec-mb"
    }

    /// Why a library isn't used.
    package struct Refusal: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    package let backEnd: BackEnd
    /// The library with what matters of it, for an operator.
    package let name: String
    /// intel-ipsec-mb's state, unless libcrypto works.
    let jobs: OpaquePointer?

    /// The fastest one that this machine has, or libcrypto where another isn't wanted.
    package convenience init(allowing allowed: Set<BackEnd> = Set(BackEnd.allCases)) {
        if allowed.contains(.ipsecMB), CipherEngine.ipsecMBRefusal == nil, let jobs = unsafe try? CipherEngine.open() {
            unsafe self.init(jobs)
        } else {
            unsafe self.init(nil)
        }
    }

    /// One of a certain library.
    ///
    /// - Throws: why that one can't be used here.
    package convenience init(_ backEnd: BackEnd) throws(Refusal) {
        switch backEnd {
        case .libcrypto: unsafe self.init(nil)
        case .ipsecMB: unsafe self.init(try CipherEngine.open())
        }
    }

    private init(_ jobs: OpaquePointer?) {
        unsafe self.jobs = unsafe jobs
        guard let jobs = unsafe jobs else {
            backEnd = .libcrypto
            name = BackEnd.libcrypto.rawValue
            return
        }
        backEnd = .ipsecMB
        let version = unsafe String(cString: shim_ipsec_mb_version(jobs))
        let instructions = unsafe shim_ipsec_mb_level(jobs) == SHIM_IPSEC_MB_AVX512 ? "AVX-512" : "AVX2"
        name = "\(BackEnd.ipsecMB.rawValue) \(version) with \(instructions)"
    }

    deinit { if let jobs = unsafe jobs { unsafe shim_ipsec_mb_close(jobs) } }

    /// Why intel-ipsec-mb isn't used on this machine; nil where it is.
    ///
    /// It is tried once against libcrypto before a packet is trusted to it.
    package static let ipsecMBRefusal: Refusal? = {
        do throws(Refusal) {
            return try CipherEngine(.ipsecMB).agreesWithLibcrypto
                ? nil : Refusal(description: "It doesn't encrypt as libcrypto does.")
        } catch {
            return error
        }
    }()

    private static func open() throws(Refusal) -> OpaquePointer {
        var jobs: OpaquePointer?
        let code = unsafe shim_ipsec_mb_open(&jobs)
        if let jobs = unsafe jobs { return unsafe jobs }
        throw Refusal(description: reason(for: -code))
    }

    static func reason(for code: Int32) -> String {
        switch code {
        case ENOSYS: "This program was built without it."
        case ENOENT: "It isn't installed."
        case EPROTONOSUPPORT: "It is older than the one that this program was built with."
        case ENOTSUP: "The processor has neither AVX2 nor AVX-512."
        default: "There isn't enough memory for it."
        }
    }

    /// Whether packets of some lengths come out as libcrypto makes them, and are opened and refused as they should be.
    var agreesWithLibcrypto: Bool {
        let key = (0..<32).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
        let sealer = unsafe TransportCipher(key: key.span.bytes, direction: .seal, with: self)
        let opener = unsafe TransportCipher(key: key.span.bytes, direction: .open, with: self)
        return [0, 1, 15, 16, 17, 63, 64, 65, 255, 256, 1023, 1420, 9000].allSatisfy { length in
            let counter = UInt64(length) &* 0x0101_0101_0101
            let plaintext = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let nonce = [UInt8](repeating: 0, count: 4) + (0..<8).map { UInt8(truncatingIfNeeded: counter >> (8 * $0)) }
            let expected = unsafe ChaCha20Poly1305.seal(
                plaintext.span.bytes,
                key: key.span.bytes,
                nonce: nonce.span.bytes,
                additional: RawSpan()
            )
            var packet = plaintext + [UInt8](repeating: 0, count: TransportCipher.tagSize)
            guard sealer.seal(&packet, length, counter), packet == expected, opener.open(&packet, counter),
                packet.prefix(length).elementsEqual(plaintext)
            else { return false }
            packet = expected
            packet[length] ^= 1
            return !opener.open(&packet, counter)
        }
    }
}

/// For trying a cipher out on arrays.
extension TransportCipher {
    func seal(_ packet: inout [UInt8], _ length: Int, _ counter: UInt64) -> Bool {
        unsafe packet.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe seal(inPlace: base, plaintextLength: length, counter: counter)
        }
    }

    func open(_ packet: inout [UInt8], _ counter: UInt64) -> Bool {
        unsafe packet.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            return unsafe open(inPlace: base, ciphertextLength: bytes.count, counter: counter)
        }
    }
}
