import Glibc
import Testing

@testable import TunnelCrypto

@Suite struct CipherEngineTests {
    @Test func `libcrypto is always there, and alone where no other is wanted`() throws {
        #expect(try CipherEngine(.libcrypto).backEnd == .libcrypto)
        #expect(CipherEngine(allowing: []).backEnd == .libcrypto)
        #expect(CipherEngine(allowing: [.libcrypto]).name == "libcrypto")
        #expect(try CipherEngine(.libcrypto).agreesWithLibcrypto)
    }

    @Test func `intel-ipsec-mb is taken where it can be used, else it is said why not`() throws {
        if let refusal = CipherEngine.ipsecMBRefusal {
            #expect(CipherEngine().backEnd == .libcrypto)
            #expect(throws: refusal) { try CipherEngine(.ipsecMB) }
        } else {
            #expect(CipherEngine().backEnd == .ipsecMB)
            #expect(CipherEngine().name.contains(/^intel-ipsec-mb [0-9.]+ with AVX(2|-512)$/))
            #expect(try CipherEngine(.ipsecMB).agreesWithLibcrypto)
        }
    }

    @Test(arguments: [
        (ENOSYS, "This program was built without it."),
        (ENOENT, "It isn't installed."),
        (EPROTONOSUPPORT, "It is older than the one that this program was built with."),
        (ENOTSUP, "The processor has neither AVX2 nor AVX-512."),
        (ENOMEM, "There isn't enough memory for it."),
    ])
    func `each reason has its words`(code: Int32, words: String) {
        #expect(CipherEngine.reason(for: code) == words)
    }
}
