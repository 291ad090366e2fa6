import CSystemd

/// Reads the values of a reply, in their order.
///
/// Source: sd_bus_message_read_basic(3), sd_bus_message_enter_container(3).
@safe package struct BusAnswer: ~Copyable {
    let message: OpaquePointer

    init(of message: OpaquePointer) { unsafe self.message = message }

    package func boolean() throws(BusError) -> Bool {
        // One of sd-bus's booleans is an int.
        var value: Int32 = 0
        try read("b", &value)
        return value != 0
    }

    package func string() throws(BusError) -> String {
        var value: UnsafePointer<CChar>?
        unsafe try read("s", &value)
        return unsafe value.map { unsafe String(cString: $0) } ?? ""
    }

    /// A 16-bit number without a sign ("q").
    package func uint16() throws(BusError) -> UInt16 {
        var value: UInt16 = 0
        try read("q", &value)
        return value
    }

    /// The elements of an array ("a…") of structures of these types ("(…)").
    package func structures<Value>(
        _ contents: String,
        _ read: (borrowing BusAnswer) throws(BusError) -> Value
    ) throws(BusError) -> [Value] {
        try array("(\(contents))") { element throws(BusError) in try element.whole(contents, read) }
    }

    /// Values inside a structure ("(…)"), of which the last ones may be left unread.
    package func structure<Value>(
        _ contents: String,
        _ read: (borrowing BusAnswer) throws(BusError) -> Value
    ) throws(BusError) -> Value {
        try found(unsafe sd_bus_message_enter_container(message, BusArguments.code("r"), contents))
        return try read(self)
    }

    func read<Value>(_ kind: Unicode.Scalar, _ value: inout Value) throws(BusError) {
        let code = unsafe withUnsafeMutablePointer(to: &value) {
            unsafe sd_bus_message_read_basic(message, BusArguments.code(kind), $0)
        }
        try found(code)
    }

    /// - Parameter code: 0 where the message is at its end.
    func found(_ code: Int32) throws(BusError) {
        guard code > 0 else {
            throw .malformed(code == 0 ? "the reply holds less than was asked for" : BusConnection.reason(code))
        }
    }
}
