package import CShims

/// The system calls of the packet path, so that a test can play a kernel with other habits.
@safe package struct TunCalls: Sendable {
    package typealias Read = @convention(c) (Int32, UnsafeMutableRawPointer, Int) -> Int
    package typealias Write = @convention(c) (Int32, UnsafePointer<shim_part>, Int32) -> Int

    let read: Read
    let write: Write

    package init(read: @escaping Read, write: @escaping Write) {
        unsafe self.read = read
        unsafe self.write = write
    }

    package static let kernel = unsafe TunCalls(read: shim_tun_read, write: shim_tun_write)
}
