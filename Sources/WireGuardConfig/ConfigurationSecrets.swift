import NetworkTypes

/// The private key and the pre-shared keys of one configuration, each under the reference that stands in its place.
///
/// They have no printable form, are never copied by moving this value, and are wiped when it ends.
@safe package struct ConfigurationSecrets: ~Copyable, @unchecked Sendable {
    // @unchecked: the memory belongs to this one value, and changes only in its mutating functions.
    private var memory: UnsafeMutableRawBufferPointer
    private var slotCount = 0
    private var slots: [String: Int] = [:]
    /// In the order in which they came.
    package private(set) var references: [String] = []

    package init() { unsafe memory = .allocate(byteCount: 4 * KeyText.byteCount, alignment: 1) }

    deinit {
        unsafe Self.wipe(memory)
        unsafe memory.deallocate()
    }

    /// Adds a key of 32 bytes under a reference, in the place of an earlier one of the same reference.
    ///
    /// - Returns: false, with nothing changed, for any other length.
    @discardableResult
    package mutating func insert(_ key: RawSpan, for reference: String) -> Bool {
        guard key.byteCount == KeyText.byteCount else { return false }
        var output = newSlot()
        for index in 0..<KeyText.byteCount {
            output.storeBytes(of: Self.byte(of: key, at: index), toByteOffset: index, as: UInt8.self)
        }
        name(slotCount - 1, reference)
        return true
    }

    package func holds(_ reference: String) -> Bool { slots[reference] != nil }

    /// Calls `body` with the 32 bytes kept under a reference; nil where there are none.
    package func withKey<R, E>(for reference: String, _ body: (RawSpan) throws(E) -> R) throws(E) -> R? {
        guard let slot = slots[reference] else { return nil }
        return try body(self.key(at: slot))
    }

    /// Reads a key's text into a new slot that has no reference yet.
    mutating func decode(_ text: ArraySlice<UInt8>) throws(ValueProblem) -> Int {
        var output = newSlot()
        try KeyText.read(text, into: &output)
        return slotCount - 1
    }

    mutating func name(_ slot: Int, _ reference: String) {
        if slots.updateValue(slot, forKey: reference) == nil { references.append(reference) }
    }

    func isZero(_ slot: Int) -> Bool {
        let key = key(at: slot)
        var bits: UInt8 = 0
        for index in 0..<KeyText.byteCount { bits |= Self.byte(of: key, at: index) }
        return bits == 0
    }

    private static func byte(of key: RawSpan, at index: Int) -> UInt8 {
        unsafe key.unsafeLoad(fromByteOffset: index, as: UInt8.self)
    }

    @_lifetime(borrow self)
    func key(at slot: Int) -> RawSpan {
        let start = slot * KeyText.byteCount
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[start..<start + KeyText.byteCount])
        return unsafe _overrideLifetime(RawSpan(_unsafeBytes: bytes), borrowing: self)
    }

    @_lifetime(&self)
    private mutating func newSlot() -> MutableRawSpan {
        let start = slotCount * KeyText.byteCount
        if unsafe start + KeyText.byteCount > memory.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: unsafe memory.count * 2, alignment: 1)
            unsafe larger.copyMemory(from: UnsafeRawBufferPointer(memory))
            unsafe Self.wipe(memory)
            unsafe memory.deallocate()
            unsafe memory = larger
        }
        slotCount += 1
        let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + KeyText.byteCount])
        return unsafe _overrideLifetime(MutableRawSpan(_unsafeBytes: bytes), mutating: &self)
    }

    /// Sets all bytes to zero.
    ///
    /// Not optimized, for an optimizer leaves out stores to memory that is about to be freed.
    @inline(never) @_optimize(none)
    private static func wipe(_ memory: UnsafeMutableRawBufferPointer) {
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
    }
}
