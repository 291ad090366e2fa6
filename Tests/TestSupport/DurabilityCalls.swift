import CTestSupport

/// The calls of fsync, rename and unlink that a body makes on its own thread: "fsync NAME", in their order.
package func durabilityCalls(_ body: () throws -> Void) rethrows -> [String] {
    var buffer = [CChar](repeating: 0, count: 64 << 10)
    return try unsafe buffer.withUnsafeMutableBufferPointer { buffer in
        guard let base = buffer.baseAddress else { return [] }
        unsafe test_record_calls(base, buffer.count)
        defer { test_record_calls(nil, 0) }
        try body()
        return unsafe String(cString: base).split(separator: "\n").map(String.init)
    }
}
