import Dispatch
import Glibc
package import NetworkTypes
import LinuxSystem
import Synchronization

/// Calls over D-Bus's system bus, each on a connection of its own, with a limit for the whole.
///
/// Nothing is held between calls, so nothing wakes up when there is none. (libsystemd's sd-bus waits for a connection
/// without the limit of the call, so a bus that hangs would hang its caller.)
package final class SystemBus: Sendable {
    package static let standardAddress = "unix:path=/run/dbus/system_bus_socket"
    /// Calls at a time; each has a thread while it waits.
    private static let limit = 16

    private let address: String
    private let open = Atomic(0)

    /// - Parameter address: as `DBUS_SYSTEM_BUS_ADDRESS` has it; nil for the standard one.
    package init(address: String?) { self.address = address ?? Self.standardAddress }

    /// Makes one call and waits for its reply.
    package func call(_ message: BusMessage, within limit: Interval) async -> Result<BusMessage, BusError> {
        guard open.add(1, ordering: .relaxed).newValue <= Self.limit else {
            open.subtract(1, ordering: .relaxed)
            return .failure(.unavailable("\(Self.limit) calls wait already"))
        }
        defer { open.subtract(1, ordering: .relaxed) }
        let deadline = Instant.now() + limit
        return await withCheckedContinuation { continuation in
            DispatchQueue(label: "system-bus").async { [address] in
                continuation.resume(returning: Self.call(message, address, deadline))
            }
        }
    }

    private static func call(_ message: BusMessage, _ address: String, _ deadline: Instant) -> Result<
        BusMessage, BusError
    > {
        do throws(BusError) {
            let connection = try BusConnection.open(address, deadline: deadline)
            return .success(try connection.call(message))
        } catch {
            return .failure(error)
        }
    }
}
