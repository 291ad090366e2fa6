import TunnelCrypto
import WireGuardCore

/// Has the process's keys stand in the locked arena (`SecretArena`).
package enum LockedKeys {
    /// Called once, before the program's second thread.
    package static func install() {
        SecretMemory.use(
            unsafe SecretMemory(
                allocate: { unsafe SecretArena.shared.allocate(byteCount: $0) },
                free: { unsafe SecretArena.shared.free($0, byteCount: $1) }
            )
        )
    }

    /// What a person should know where keys may be swapped; nil where they can't.
    static var note: String? {
        SecretArena.shared.lockFailure.map {
            "Keys may be swapped to disk, going on without locked memory: \($0). Raise LimitMEMLOCK of tunneld."
        }
    }
}
