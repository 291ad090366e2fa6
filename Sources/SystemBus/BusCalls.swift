/// Calls over one connection, made by the thread that has it.
package struct BusCalls {
    private let connection: BusConnection

    init(_ connection: BusConnection) { self.connection = connection }

    /// Makes a call and waits for its reply.
    ///
    /// - Parameters:
    ///   - arguments: writes what the method takes.
    ///   - answer: reads what it returns.
    package func call<Answer>(
        _ method: BusMethod,
        arguments: (borrowing BusArguments) throws(BusError) -> Void = { _ in },
        answer: (borrowing BusAnswer) throws(BusError) -> Answer
    ) throws(BusError) -> Answer {
        try connection.call(method, arguments, answer)
    }

    /// Makes a call whose reply holds nothing.
    package func call(
        _ method: BusMethod,
        arguments: (borrowing BusArguments) throws(BusError) -> Void
    ) throws(BusError) {
        try connection.call(method, arguments) { _ throws(BusError) in }
    }

    /// Reads a property of an object.
    ///
    /// - Parameter type: its signature.
    package func property<Value>(
        _ name: String,
        _ type: String,
        on interface: String,
        of destination: String,
        at path: String,
        _ read: (borrowing BusAnswer) throws(BusError) -> Value
    ) throws(BusError) -> Value {
        let get = BusMethod("Get", on: "org.freedesktop.DBus.Properties", of: destination, at: path)
        return try connection.call(get) { arguments throws(BusError) in
            try arguments.string(interface)
            try arguments.string(name)
        } _: { answer throws(BusError) in
            try answer.variant(type, read)
        }
    }
}
