import CSystemd
import Glibc
import LinuxSystem
import NetworkTypes

/// A connection to a bus, for one call; every wait ends at the deadline.
///
/// sd_bus_call(3) would wait for a connection without that, so the connection is driven from here.
@safe final class BusConnection {
    private let bus: OpaquePointer
    private let address: String
    private let deadline: Instant

    /// Begins to connect.
    ///
    /// - Parameter address: "unix:path=…"; of several, with semicolons between, the first that can be reached.
    init(to address: String, deadline: Instant) throws(BusError) {
        var bus: OpaquePointer?
        guard unsafe sd_bus_new(&bus) >= 0, let bus = unsafe bus else { throw .unavailable(Self.reason(-ENOMEM)) }
        unsafe self.bus = bus
        self.address = address
        self.deadline = deadline
        try begin(unsafe sd_bus_set_address(bus, address))
        // A client says Hello, without which nothing is answered.
        try begin(unsafe sd_bus_set_bus_client(bus, 1))
        try begin(unsafe sd_bus_start(bus))
    }

    deinit { unsafe sd_bus_close_unref(bus) }

    /// Makes a call and waits for its reply.
    ///
    /// - Throws: `refused` where it is an error.
    func call<Answer>(
        _ method: BusMethod,
        _ arguments: (borrowing BusArguments) throws(BusError) -> Void,
        _ answer: (borrowing BusAnswer) throws(BusError) -> Answer
    ) throws(BusError) -> Answer {
        var message: OpaquePointer?
        let code = unsafe sd_bus_message_new_method_call(
            bus,
            &message,
            method.destination,
            method.path,
            method.interface,
            method.member
        )
        guard code >= 0, let message = unsafe message else { throw .malformed(Self.reason(code)) }
        defer { unsafe sd_bus_message_unref(message) }
        unsafe try arguments(BusArguments(of: message))
        var cookie: UInt64 = 0
        try begin(unsafe sd_bus_send(bus, message, &cookie))
        let reply = unsafe try awaitReply(to: cookie)
        defer { unsafe sd_bus_message_unref(reply) }
        let isError = unsafe sd_bus_message_is_method_error(reply, nil) > 0
        if isError { throw unsafe Self.refusal(reply) }
        return unsafe try answer(BusAnswer(of: reply))
    }

    /// A number of the system's in words, as sd-bus returns it: negative.
    static func reason(_ code: Int32) -> String { "\(SystemError(-code, in: "sd-bus"))" }

    private func begin(_ code: Int32) throws(BusError) {
        guard code >= 0 else { throw .unavailable("\(address.prefix(128)): \(Self.reason(code))") }
    }

    private func awaitReply(to cookie: UInt64) throws(BusError) -> OpaquePointer {
        while true {
            guard Instant.now() < deadline else { throw .timedOut }
            var message: OpaquePointer?
            let code = unsafe sd_bus_process(bus, &message)
            if let message = unsafe message {
                var answered: UInt64 = 0
                if unsafe sd_bus_message_get_reply_cookie(message, &answered) >= 0, answered == cookie {
                    return unsafe message
                }
                unsafe sd_bus_message_unref(message)
            }
            if code == -EBADMSG { throw .malformed(Self.reason(code)) }
            try begin(code)
            if code == 0 { try wait() }
        }
    }

    private func wait() throws(BusError) {
        let descriptor = unsafe sd_bus_get_fd(bus)
        let events = unsafe sd_bus_get_events(bus)
        try begin(min(descriptor, events))
        var request = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
        // What sd-bus wants to do by itself in between can wait until then.
        let milliseconds = Int32(min(Double(Int32.max), max(0, (deadline - .now()).inSeconds) * 1000 + 1))
        guard unsafe poll(&request, 1, milliseconds) >= 0 || errno == EINTR else {
            throw .unavailable("\(SystemError(errno, in: "poll"))")
        }
    }

    static func refusal(_ reply: OpaquePointer) -> BusError {
        guard let error = unsafe sd_bus_message_get_error(reply), let name = unsafe error.pointee.name else {
            return .malformed("an error without a name")
        }
        let message = unsafe error.pointee.message.map { unsafe String(cString: $0) } ?? ""
        return .refused(name: unsafe String(cString: name), message: message)
    }
}
