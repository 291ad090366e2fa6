import CSystemd
import Glibc

/// Writes the arguments of a call, in their order.
///
/// Source: sd_bus_message_append_basic(3), sd_bus_message_open_container(3); D-Bus Specification, "Type System".
@safe package struct BusArguments: ~Copyable {
    private let message: OpaquePointer

    init(of message: OpaquePointer) { unsafe self.message = message }

    /// A string ("s").
    package func string(_ value: String) throws(BusError) {
        let code = unsafe value.withCString { unsafe sd_bus_message_append_basic(message, Self.code("s"), $0) }
        try check(code)
    }

    /// A 32-bit number without a sign ("u").
    package func uint32(_ value: UInt32) throws(BusError) { try number(value, "u") }

    /// A 32-bit number ("i").
    package func int32(_ value: Int32) throws(BusError) { try number(value, "i") }

    /// A 64-bit number without a sign ("t").
    package func uint64(_ value: UInt64) throws(BusError) { try number(value, "t") }

    /// Yes or no ("b").
    package func boolean(_ value: Bool) throws(BusError) {
        // One of sd-bus's booleans is an int.
        try number(value ? Int32(1) : 0, "b")
    }

    /// An array of bytes ("ay").
    package func bytes(_ value: [UInt8]) throws(BusError) {
        let code = unsafe value.withUnsafeBytes { bytes in
            unsafe sd_bus_message_append_array(message, Self.code("y"), bytes.baseAddress, bytes.count)
        }
        try check(code)
    }

    /// A structure ("(…)") of the types that `contents` names.
    package func structure(
        _ contents: String,
        _ write: (borrowing BusArguments) throws(BusError) -> Void
    ) throws(BusError) {
        try container("r", contents, write)
    }

    /// An array ("a…") of the one type that `element` names.
    package func array(
        _ element: String,
        _ write: (borrowing BusArguments) throws(BusError) -> Void = { _ in }
    ) throws(BusError) {
        try container("a", element, write)
    }

    /// An entry of a dictionary ("{s…}" inside an array) whose value is a variant of the type that `type` names.
    package func entry(
        _ key: String,
        _ type: String,
        _ write: (borrowing BusArguments) throws(BusError) -> Void
    ) throws(BusError) {
        try container("e", "sv") { entry throws(BusError) in
            try entry.string(key)
            try entry.container("v", type, write)
        }
    }

    private func container(
        _ kind: Unicode.Scalar,
        _ contents: String,
        _ write: (borrowing BusArguments) throws(BusError) -> Void
    ) throws(BusError) {
        try check(unsafe sd_bus_message_open_container(message, Self.code(kind), contents))
        try write(self)
        try check(unsafe sd_bus_message_close_container(message))
    }

    private func number<Number: FixedWidthInteger>(_ value: Number, _ kind: Unicode.Scalar) throws(BusError) {
        let code = unsafe withUnsafePointer(to: value) {
            unsafe sd_bus_message_append_basic(message, Self.code(kind), $0)
        }
        try check(code)
    }

    private func check(_ code: Int32) throws(BusError) {
        guard code >= 0 else { throw .malformed(BusConnection.reason(code)) }
    }

    static func code(_ kind: Unicode.Scalar) -> CChar { CChar(bitPattern: UInt8(ascii: kind)) }
}
