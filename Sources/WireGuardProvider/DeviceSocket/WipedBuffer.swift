import Glibc
package import LinuxSystem
package import WireGuardCore

/// Bytes among which may be keys: wiped when they are taken out, when the memory grows, and at the end.
@safe package struct WipedBuffer: ~Copyable, @unchecked Sendable {
    // @unchecked: the memory has one owner, and changes only in mutating functions.
    private var memory: UnsafeMutableRawBufferPointer
    package private(set) var count = 0

    package init(capacity: Int = 256) { unsafe memory = .allocate(byteCount: max(capacity, 1), alignment: 1) }

    deinit {
        unsafe Self.wipe(memory)
        unsafe memory.deallocate()
    }

    /// The bytes, until the buffer changes.
    package var bytes: RawSpan {
        @_lifetime(borrow self)
        get {
            let filled = unsafe UnsafeRawBufferPointer(rebasing: memory[..<count])
            return unsafe _overrideLifetime(RawSpan(_unsafeBytes: filled), borrowing: self)
        }
    }

    package mutating func append(_ text: String) {
        for byte in text.utf8 { append(byte) }
    }

    package mutating func append(_ byte: UInt8) {
        reserve(1)
        unsafe memory[count] = byte
        count += 1
    }

    /// "name=", 64 hexadecimal digits, and the end of the line.
    package mutating func appendLine(_ name: String, hexadecimalOf key: SecretKey) {
        beginLine(name)
        for index in 0..<SecretKey.byteCount {
            appendHexadecimal(unsafe key.bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self))
        }
        append(UInt8(ascii: "\n"))
    }

    package mutating func appendLine(_ name: String, hexadecimalOf key: PublicKey) {
        beginLine(name)
        for byte in key.bytes { appendHexadecimal(byte) }
        append(UInt8(ascii: "\n"))
    }

    /// Copies the bytes, as far as there is room.
    package func copy(into room: UnsafeMutableRawBufferPointer) {
        unsafe room.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<min(count, room.count)]))
    }

    /// Lends `size` bytes of free room; `body` answers how many of its first bytes it has filled, or fails.
    package mutating func fill<E>(
        room size: Int,
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int
    ) throws(E) {
        reserve(size)
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + size])
        count += min(max(try unsafe body(room), 0), size)
    }

    /// Takes out what a socket takes of it.
    package mutating func send(on socket: Int32) throws(SystemError) {
        let base = unsafe UnsafeRawPointer(memory.baseAddress)
        let length = count
        let sent = try check("send") {
            unsafe base.map { unsafe Glibc.send(socket, $0, length, Int32(MSG_NOSIGNAL)) } ?? 0
        }
        removeFirst(sent)
    }

    /// Takes out the first bytes; the rest moves up.
    package mutating func removeFirst(_ removed: Int) {
        precondition(removed >= 0 && removed <= count)
        let rest = count - removed
        if rest > 0, removed > 0, let base = unsafe memory.baseAddress { unsafe memmove(base, base + removed, rest) }
        unsafe Self.wipe(UnsafeMutableRawBufferPointer(rebasing: memory[rest..<count]))
        count = rest
    }

    private mutating func reserve(_ more: Int) {
        guard unsafe count + more > memory.count else { return }
        let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(memory.count * 2, count + more),
            alignment: 1
        )
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        unsafe Self.wipe(memory)
        unsafe memory.deallocate()
        unsafe memory = larger
    }

    private static func wipe(_ memory: UnsafeMutableRawBufferPointer) {
        guard let base = memory.baseAddress else { return }
        unsafe explicit_bzero(base, memory.count)
    }

    private mutating func beginLine(_ name: String) {
        append(name)
        append(UInt8(ascii: "="))
    }

    private mutating func appendHexadecimal(_ byte: UInt8) {
        append(Self.digit(byte >> 4))
        append(Self.digit(byte & 15))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
