import CSystemd

extension BusAnswer {
    /// A 32-bit number ("i").
    package func int32() throws(BusError) -> Int32 {
        var value: Int32 = 0
        try read("i", &value)
        return value
    }

    /// A 32-bit number without a sign ("u").
    package func uint32() throws(BusError) -> UInt32 {
        var value: UInt32 = 0
        try read("u", &value)
        return value
    }

    /// The path of an object ("o").
    package func objectPath() throws(BusError) -> String {
        var value: UnsafePointer<CChar>?
        unsafe try read("o", &value)
        return unsafe value.map { unsafe String(cString: $0) } ?? ""
    }

    /// Bytes ("ay").
    package func bytes() throws(BusError) -> [UInt8] {
        var start: UnsafeRawPointer?
        var count = 0
        let code = unsafe sd_bus_message_read_array(message, BusArguments.code("y"), &start, &count)
        guard code >= 0 else { throw .malformed(BusConnection.reason(code)) }
        guard let start = unsafe start else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// A value inside a variant ("v") of this type; all of it is read.
    package func variant<Value>(
        _ contents: String,
        _ read: (borrowing BusAnswer) throws(BusError) -> Value
    ) throws(BusError) -> Value {
        try container("v", contents, read)
    }

    /// A structure ("(…)") of these types; all of it is read.
    package func whole<Value>(
        _ contents: String,
        _ read: (borrowing BusAnswer) throws(BusError) -> Value
    ) throws(BusError) -> Value {
        try container("r", contents, read)
    }

    /// The elements of an array ("a…") of this type; beyond `limit` it is refused.
    package func array<Value>(
        _ element: String,
        limit: Int = 4096,
        _ read: (borrowing BusAnswer) throws(BusError) -> Value
    ) throws(BusError) -> [Value] {
        try container("a", element) { answer throws(BusError) in
            var all: [Value] = []
            while try !answer.isAtEnd() {
                guard all.count < limit else { throw .malformed("an array of more than \(limit) elements") }
                all.append(try read(answer))
            }
            return all
        }
    }

    private func container<Value>(
        _ kind: Unicode.Scalar,
        _ contents: String,
        _ read: (borrowing BusAnswer) throws(BusError) -> Value
    ) throws(BusError) -> Value {
        try found(unsafe sd_bus_message_enter_container(message, BusArguments.code(kind), contents))
        let value = try read(self)
        let code = unsafe sd_bus_message_exit_container(message)
        guard code >= 0 else { throw .malformed(BusConnection.reason(code)) }
        return value
    }

    /// Whether the container that is being read has nothing more.
    private func isAtEnd() throws(BusError) -> Bool {
        let code = unsafe sd_bus_message_at_end(message, 0)
        guard code >= 0 else { throw .malformed(BusConnection.reason(code)) }
        return code > 0
    }
}
