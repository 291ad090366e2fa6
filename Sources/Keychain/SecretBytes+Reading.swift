import Glibc
import TunnelCrypto

extension SecretBytes {
    /// The first bytes of a file, straight into guarded memory; nil where it has fewer, or can't be read.
    init?(readingFrom file: Int32, count: Int) {
        var secret = SecretBytes(zeroCount: count)
        let isWhole = secret.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBytes { unsafe Self.readWhole(file, into: $0) }
        }
        guard isWhole else { return nil }
        self = secret
    }

    private static func readWhole(_ file: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Bool {
        var done = 0
        while done < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = unsafe pread(file, rest.baseAddress, rest.count, off_t(done))
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return false }
            done += count
        }
        return true
    }
}
