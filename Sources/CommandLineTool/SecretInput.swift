import ControlAPI
import Glibc
import LinuxSystem
import NetworkTypes
import TunnelCrypto

/// Where a secret comes from: a file, standard input, or a person at a terminal who doesn't see it; never an argument.
struct SecretInput {
    /// The descriptor of standard input.
    let input: Int32
    let console: Console

    /// The bytes as they come.
    ///
    /// - Parameters:
    ///   - path: nil or "-" for standard input, where a terminal is asked.
    ///   - prompt: what to ask for: "Password".
    ///   - isNew: whether a person types it twice.
    func read(from path: String?, prompt: String, isNew: Bool) throws -> SecretBytes {
        if let path, path != "-" { return try contents(ofFile: path) }
        guard isatty(input) == 1 else { return try contents(of: input, "standard input") }
        let secret = try ask("\(prompt): ")
        if isNew {
            let again = try ask("\(prompt) again: ")
            guard secret.isEqual(to: again.bytes) else {
                throw ControlError(.invalidParameter, "The two aren't the same; nothing was kept.")
            }
        }
        return secret
    }

    /// Without the end of its one line; the rest as it is.
    static func withoutNewline(_ secret: borrowing SecretBytes) -> SecretBytes {
        var count = secret.count
        if count > 0, secret.byte(at: count - 1) == UInt8(ascii: "\n") {
            count -= 1
            if count > 0, secret.byte(at: count - 1) == UInt8(ascii: "\r") { count -= 1 }
        }
        return SecretBytes(copying: secret.bytes.extracting(first: count))
    }

    // MARK: Files

    /// Bytes of a secret (`ItemHeader.secretLimit`).
    private static let limit = 256 << 10

    private func contents(ofFile path: String) throws -> SecretBytes {
        let file: OwnedDescriptor
        do throws(SystemError) {
            file = OwnedDescriptor(
                adopting: try check("open") { unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
            )
        } catch {
            throw ControlError(
                error.code == EACCES ? .permissionDenied : .invalidParameter,
                "\(path) can't be read.",
                reason: "\(error)."
            )
        }
        var status = stat()
        if unsafe fstat(file.raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & S_IROTH != 0 {
            console.note("Everybody on this machine may read \(path): chmod 600 \(path.shellQuotedPath)")
        }
        return try contents(of: file.raw, path)
    }

    private func contents(of descriptor: Int32, _ name: String) throws -> SecretBytes {
        var bytes = SecretBytes(zeroCount: Self.limit + 1)
        var count = 0
        var failure: Int32 = 0
        bytes.withMutableBytes { bytes in
            unsafe bytes.withUnsafeMutableBytes { buffer in
                while count < buffer.count {
                    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                    let got = unsafe Glibc.read(descriptor, rest.baseAddress, rest.count)
                    if got < 0, errno == EINTR { continue }
                    if got < 0 { failure = errno }
                    if got <= 0 { break }
                    count += got
                }
            }
        }
        guard failure == 0 else {
            throw ControlError(
                .invalidParameter,
                "\(name) can't be read.",
                reason: "\(SystemError(failure, in: "read"))."
            )
        }
        guard count <= Self.limit else {
            throw ControlError(.tooMany, "\(name) is larger than a secret may be, \(Self.limit) bytes.")
        }
        return SecretBytes(copying: bytes.bytes.extracting(first: count))
    }

    // MARK: A terminal

    /// Reads a line that isn't shown.
    ///
    /// Keys that would end or stop the program are read as keys, so that the terminal is never left without its echo.
    private func ask(_ prompt: String) throws -> SecretBytes {
        var former = termios()
        guard unsafe tcgetattr(input, &former) == 0 else {
            throw ControlError(
                .invalidParameter,
                "The terminal can't be read.",
                reason: "\(SystemError(errno, in: "tcgetattr"))."
            )
        }
        var quiet = former
        quiet.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
        _ = unsafe tcsetattr(input, TCSAFLUSH, &quiet)
        defer {
            _ = unsafe tcsetattr(input, TCSAFLUSH, &former)
            console.prompt("\n")
        }
        // What is typed before is gone, what is typed from here on is unseen.
        console.prompt(prompt)
        var line = SecretBytes(zeroCount: 4096)
        var count = 0
        while true {
            var key: UInt8 = 0
            let got = unsafe Glibc.read(input, &key, 1)
            if got < 0, errno == EINTR { continue }
            switch got == 1 ? key : 0x04 {
            case 0x0a, 0x0d: return SecretBytes(copying: line.bytes.extracting(first: count))
            case 0x03, 0x04, 0x1a, 0x1c: throw ControlError(.invalidParameter, "Nothing was kept.")
            case 0x08, 0x7f: count = max(0, count - 1)
            case 0x15: count = 0
            default:
                guard count < line.count else {
                    throw ControlError(.tooMany, "A line has at most \(line.count) bytes; use --file.")
                }
                line.set(key, at: count)
                count += 1
            }
        }
    }
}

extension SecretBytes {
    fileprivate func byte(at index: Int) -> UInt8 { unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self) }

    fileprivate mutating func set(_ byte: UInt8, at index: Int) {
        withMutableBytes { $0.storeBytes(of: byte, toByteOffset: index, as: UInt8.self) }
    }
}
