import Dispatch
import LinuxSystem
package import NetworkTypes
import Synchronization

/// Calls over D-Bus's system bus, each on a connection of its own, with a limit for the whole.
///
/// Nothing is held between calls, so nothing wakes up when there is none.
package final class SystemBus: Sendable {
    package static let standardAddress = "unix:path=/run/dbus/system_bus_socket"
    /// Calls at a time; each has a thread while it waits.
    private static let limit = 16

    package let address: String
    private let open = Atomic(0)

    /// - Parameter address: as `DBUS_SYSTEM_BUS_ADDRESS` has it; nil for the standard one.
    package init(address: String?) { self.address = address ?? Self.standardAddress }

    /// Makes one call and waits for its reply.
    ///
    /// - Parameters:
    ///   - arguments: writes what the method takes.
    ///   - answer: reads what it returns.
    package func call<Answer: Sendable>(
        _ method: BusMethod,
        within limit: Interval,
        arguments: @escaping @Sendable (borrowing BusArguments) throws(BusError) -> Void = { _ in },
        answer: @escaping @Sendable (borrowing BusAnswer) throws(BusError) -> Answer
    ) async -> Result<Answer, BusError> {
        await calls(within: limit) { connection throws(BusError) in
            try connection.call(method, arguments: arguments, answer: answer)
        }
    }

    /// Makes several calls over one connection, one after the other, with a limit for all of them.
    ///
    /// - Parameter body: runs on a thread of its own, which it may block.
    package func calls<Answer: Sendable>(
        within limit: Interval,
        _ body: @escaping @Sendable (BusCalls) throws(BusError) -> Answer
    ) async -> Result<Answer, BusError> {
        guard open.add(1, ordering: .relaxed).newValue <= Self.limit else {
            open.subtract(1, ordering: .relaxed)
            return .failure(.unavailable("\(Self.limit) calls wait already"))
        }
        defer { open.subtract(1, ordering: .relaxed) }
        let deadline = Instant.now() + limit
        return await withCheckedContinuation { continuation in
            DispatchQueue(label: "system-bus").async { [address] in
                continuation.resume(
                    returning: Result { () throws(BusError) -> Answer in
                        let connection = try BusConnection(to: address, deadline: deadline)
                        return try body(BusCalls(connection))
                    }
                )
            }
        }
    }
}
