import CSystemd
import Glibc
package import LinuxSystem

extension BusAnswer {
    /// A descriptor ("h"): one of our own for the same open file, close-on-exec.
    package func descriptor() throws(BusError) -> SharedDescriptor {
        var value: Int32 = -1
        try read("h", &value)
        let raw = fcntl(value, F_DUPFD_CLOEXEC, 3)
        guard raw >= 0 else { throw .malformed("\(SystemError(errno, in: "fcntl(F_DUPFD_CLOEXEC)"))") }
        return SharedDescriptor(OwnedDescriptor(adopting: raw))
    }

    /// A 64-bit number without a sign ("t").
    package func uint64() throws(BusError) -> UInt64 {
        var value: UInt64 = 0
        try read("t", &value)
        return value
    }

    /// What is to be read next: the code of a type; nil at the end.
    var nextType: UInt8? {
        var type: CChar = 0
        guard unsafe sd_bus_message_peek_type(message, &type, nil) > 0 else { return nil }
        return UInt8(bitPattern: type)
    }
}
