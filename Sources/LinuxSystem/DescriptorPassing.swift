import CShims
import Glibc

/// Bytes with descriptors over a Unix socket (unix(7), SCM_RIGHTS).
///
/// Nothing here blocks.
package enum DescriptorPassing {
    /// The most descriptors that go with one message.
    package static let limit = Int(SHIM_DESCRIPTORS_MAX)

    package struct Received: Sendable {
        /// 0 at the end of the stream.
        package let count: Int
        package let descriptors: [SharedDescriptor]
        /// Descriptors, or bytes of a packet, were lost: there were more than fit, or our own table is full.
        package let isCut: Bool
    }

    /// Sends bytes, the descriptors with the first of them.
    ///
    /// - Returns: how many bytes went; nil when the socket takes none now.
    package static func send(
        _ bytes: RawSpan,
        _ descriptors: [SharedDescriptor] = [],
        on socket: Int32
    ) throws(SystemError) -> Int? {
        let raw = descriptors.map(\.raw)
        do throws(SystemError) {
            return try withExtendedLifetime(descriptors) { () throws(SystemError) in
                try checkShimBytes("sendmsg") {
                    unsafe bytes.withUnsafeBytes { bytes in
                        guard let base = bytes.baseAddress else { return 0 }
                        return unsafe shim_unix_send(socket, base, bytes.count, raw, Int32(clamping: raw.count))
                    }
                }
            }
        } catch {
            if error.code == EAGAIN { return nil }
            throw error
        }
    }

    /// Reads what has come, at most the size of `buffer`.
    ///
    /// - Returns: nil when nothing has come.
    package static func receive(
        into buffer: UnsafeMutableRawBufferPointer,
        on socket: Int32
    ) throws(SystemError) -> Received? {
        guard let base = buffer.baseAddress else { throw SystemError(EINVAL, in: "recvmsg") }
        var raw = [Int32](repeating: -1, count: limit)
        var count: Int32 = 0
        var cut: Int32 = 0
        do throws(SystemError) {
            let received = try checkShimBytes("recvmsg") {
                unsafe raw.withUnsafeMutableBufferPointer { raw in
                    guard let place = raw.baseAddress else { return -Int(EINVAL) }
                    return unsafe shim_unix_receive(socket, base, buffer.count, place, &count, &cut)
                }
            }
            return Received(
                count: received,
                descriptors: raw[..<Int(count)].map { SharedDescriptor(OwnedDescriptor(adopting: $0)) },
                isCut: cut != 0
            )
        } catch {
            if error.code == EAGAIN { return nil }
            throw error
        }
    }
}

private func checkShimBytes(_ call: StaticString, _ body: () -> Int) throws(SystemError) -> Int {
    while true {
        let result = body()
        if result >= 0 { return result }
        if result != -Int(EINTR) { throw SystemError(Int32(clamping: -result), in: call) }
    }
}
