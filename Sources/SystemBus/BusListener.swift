import CSystemd
import Dispatch
import EventLoop
import Glibc
import LinuxSystem

/// One connection to a bus that hears signals, driven by its queue and never blocking it.
@safe final class BusListener {
    /// What is taken at once; others on the queue shall have their turn as well.
    private static let batch = 64

    private let bus: OpaquePointer
    private let queue: DispatchQueue
    private let tell: @Sendable (BusNews) -> Void
    private var input: DescriptorSource?
    private var output: DescriptorSource?
    /// Replies that are awaited, one for each rule.
    private var awaited: Set<UInt64> = []
    private(set) var isSubscribed = false
    private var isClosed = false

    /// Begins to connect, on the queue.
    init(
        _ address: String,
        _ rules: [String],
        on queue: DispatchQueue,
        tell: @escaping @Sendable (BusNews) -> Void
    ) throws(BusError) {
        var bus: OpaquePointer?
        guard unsafe sd_bus_new(&bus) >= 0, let bus = unsafe bus else {
            throw .unavailable(BusConnection.reason(-ENOMEM))
        }
        unsafe self.bus = bus
        self.queue = queue
        self.tell = tell
        try begin(unsafe sd_bus_set_address(bus, address))
        try begin(unsafe sd_bus_set_bus_client(bus, 1))
        try begin(unsafe sd_bus_start(bus))
        for rule in rules { try addMatch(rule) }
        try watch()
        drive()
    }

    deinit { unsafe sd_bus_close_unref(bus) }

    func close() {
        isClosed = true
        input?.cancel()
        output?.cancel()
    }

    /// sd_bus_add_match_async(3) would want a callback in C; the call itself is a call like any other.
    private func addMatch(_ rule: String) throws(BusError) {
        var message: OpaquePointer?
        let name = "org.freedesktop.DBus"
        let code = unsafe sd_bus_message_new_method_call(bus, &message, name, "/org/freedesktop/DBus", name, "AddMatch")
        guard code >= 0, let message = unsafe message else { throw .malformed(BusConnection.reason(code)) }
        defer { unsafe sd_bus_message_unref(message) }
        unsafe try BusArguments(of: message).string(rule)
        var cookie: UInt64 = 0
        try begin(unsafe sd_bus_send(bus, message, &cookie))
        awaited.insert(cookie)
    }

    private func watch() throws(BusError) {
        let raw = fcntl(unsafe sd_bus_get_fd(bus), F_DUPFD_CLOEXEC, 3)
        guard raw >= 0 else { throw .unavailable("\(SystemError(errno, in: "fcntl(F_DUPFD_CLOEXEC)"))") }
        let descriptor = SharedDescriptor(OwnedDescriptor(adopting: raw))
        // Both run on the queue that owns this object.
        let drive = Driver(self)
        input = DescriptorSource(descriptor, .readable, on: queue) { drive.run() }
        output = DescriptorSource(descriptor, .writable, on: queue) { drive.run() }
        input?.resume()
    }

    /// Takes what has come, sends what waits.
    fileprivate func drive() {
        guard !isClosed else { return }
        for _ in 0..<Self.batch {
            var message: OpaquePointer?
            let code = unsafe sd_bus_process(bus, &message)
            if let message = unsafe message {
                unsafe take(message)
                unsafe sd_bus_message_unref(message)
            }
            guard !isClosed else { return }
            if code < 0 { return tell(.lost(.unavailable(BusConnection.reason(code)))) }
            if unsafe sd_bus_is_open(bus) <= 0 { return tell(.lost(.unavailable("the bus closed the connection"))) }
            if code == 0 { return settle() }
        }
        // More waits, which the descriptor may not say: sd-bus has read it already.
        let drive = Driver(self)
        queue.async { drive.run() }
    }

    /// The descriptor is writable nearly always, so it is only watched for that while something waits to be sent.
    private func settle() {
        let events = unsafe sd_bus_get_events(bus)
        if events >= 0, events & POLLOUT != 0 { output?.resume() } else { output?.suspend() }
    }

    private func take(_ message: OpaquePointer) {
        var cookie: UInt64 = 0
        if unsafe sd_bus_message_get_reply_cookie(message, &cookie) >= 0, awaited.remove(cookie) != nil {
            if unsafe sd_bus_message_is_method_error(message, nil) > 0 {
                return tell(.lost(unsafe BusConnection.refusal(message)))
            }
            guard awaited.isEmpty else { return }
            isSubscribed = true
            return tell(.subscribed)
        }
        guard unsafe sd_bus_message_is_signal(message, nil, nil) > 0 else { return }
        let signal = unsafe BusSignal(
            sender: Self.text(sd_bus_message_get_sender(message)),
            path: Self.text(sd_bus_message_get_path(message)),
            interface: Self.text(sd_bus_message_get_interface(message)),
            member: Self.text(sd_bus_message_get_member(message)),
            arguments: Self.arguments(BusAnswer(of: message))
        )
        tell(.signal(signal))
    }

    private static func arguments(_ answer: borrowing BusAnswer) -> [BusSignal.Argument] {
        var arguments: [BusSignal.Argument] = []
        while true {
            switch answer.nextType {
            case UInt8(ascii: "s"):
                guard let value = try? answer.string() else { return arguments }
                arguments.append(.string(value))
            case UInt8(ascii: "b"):
                guard let value = try? answer.boolean() else { return arguments }
                arguments.append(.boolean(value))
            default: return arguments
            }
        }
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        unsafe pointer.map { unsafe String(cString: $0) } ?? ""
    }

    private func begin(_ code: Int32) throws(BusError) {
        guard code >= 0 else { throw .unavailable(BusConnection.reason(code)) }
    }
}

/// A listener that its sources call, as long as it is there.
private final class Driver: @unchecked Sendable {  // Made and run on the listener's queue alone.
    private weak var listener: BusListener?

    init(_ listener: BusListener) { self.listener = listener }

    func run() { listener?.drive() }
}
