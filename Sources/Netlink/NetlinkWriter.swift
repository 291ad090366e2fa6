/// Writes the body of a netlink message: its fixed header and its attributes.
///
/// Lengths and padding are filled in here (netlink(7): everything stands at multiples of 4), so callers do no size
/// arithmetic.
package struct NetlinkWriter: Hashable, Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Appends a fixed header as `ifinfomsg` or `rtmsg`, in the machine's own byte order.
    package mutating func header<Header: BitwiseCopyable>(_ header: Header) {
        unsafe withUnsafeBytes(of: header) { unsafe bytes.append(contentsOf: $0) }
        pad()
    }

    /// Appends an attribute with the given bytes.
    package mutating func put(_ type: some BinaryInteger, bytes value: some Collection<UInt8>) {
        attribute(type) { $0.append(contentsOf: value) }
    }

    /// Appends a number in the machine's own byte order.
    package mutating func put<Value: FixedWidthInteger & BitwiseCopyable>(_ type: some BinaryInteger, _ value: Value) {
        attribute(type) { bytes in unsafe withUnsafeBytes(of: value) { unsafe bytes.append(contentsOf: $0) } }
    }

    /// Appends a string with its terminating zero.
    package mutating func put(_ type: some BinaryInteger, string: String) {
        attribute(type) {
            $0.append(contentsOf: string.utf8)
            $0.append(0)
        }
    }

    /// Appends a struct as it stands in memory.
    package mutating func put<Value: BitwiseCopyable>(_ type: some BinaryInteger, raw value: Value) {
        attribute(type) { bytes in unsafe withUnsafeBytes(of: value) { unsafe bytes.append(contentsOf: $0) } }
    }

    /// Appends an attribute that holds what `body` writes.
    package mutating func nest(_ type: some BinaryInteger, _ body: (inout NetlinkWriter) -> Void) {
        var inner = NetlinkWriter()
        body(&inner)
        put(type, bytes: inner.bytes)
    }

    private mutating func attribute(_ type: some BinaryInteger, _ value: (inout [UInt8]) -> Void) {
        let start = bytes.count
        bytes.append(contentsOf: [0, 0, 0, 0])
        value(&bytes)
        let length = bytes.count - start
        precondition(length <= Int(UInt16.max), "a netlink attribute holds at most 65,531 bytes")
        store(UInt16(length), at: start)
        store(UInt16(type), at: start + 2)
        pad()
    }

    private mutating func store(_ value: UInt16, at index: Int) {
        unsafe withUnsafeBytes(of: value) {
            unsafe bytes[index] = $0[0]
            unsafe bytes[index + 1] = $0[1]
        }
    }

    private mutating func pad() {
        while bytes.count % 4 != 0 { bytes.append(0) }
    }
}
