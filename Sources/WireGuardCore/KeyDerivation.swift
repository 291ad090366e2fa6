/// The KDF of the whitepaper (section 5.4): HKDF over HMAC-BLAKE2s with one, two or three keys as result.
enum KeyDerivation<C: Cryptography> {
    static func one(_ input: RawSpan, key: SecretKey) -> SecretKey { keys(1, input, key)[0] }

    static func two(_ input: RawSpan, key: SecretKey) -> (SecretKey, SecretKey) {
        let all = keys(2, input, key)
        return (all[0], all[1])
    }

    static func three(_ input: RawSpan, key: SecretKey) -> (SecretKey, SecretKey, SecretKey) {
        let all = keys(3, input, key)
        return (all[0], all[1], all[2])
    }

    private static func keys(_ count: Int, _ input: RawSpan, _ key: SecretKey) -> [SecretKey] {
        let extracted = SecretKey { C.hmac(input, key: key.bytes, into: &$0) }
        var keys: [SecretKey] = []
        for number in 1...count { keys.append(expand(extracted, keys.last, UInt8(number))) }
        return keys
    }

    /// HMAC over the key before this one, if any, and the number of this one.
    private static func expand(_ key: SecretKey, _ last: SecretKey?, _ number: UInt8) -> SecretKey {
        unsafe withUnsafeTemporaryAllocation(byteCount: SecretKey.byteCount + 1, alignment: 8) { buffer in
            guard let base = buffer.baseAddress else { preconditionFailure("no memory for 33 bytes") }
            let length = last == nil ? 0 : SecretKey.byteCount
            for offset in 0..<length {
                unsafe base.storeBytes(of: last?.bytes[byteAt: offset] ?? 0, toByteOffset: offset, as: UInt8.self)
            }
            unsafe base.storeBytes(of: number, toByteOffset: length, as: UInt8.self)
            let result = SecretKey { output in
                let message = unsafe RawSpan(_unsafeStart: base, byteCount: length + 1)
                C.hmac(message, key: key.bytes, into: &output)
            }
            unsafe wipeMemory(base, count: length)
            return result
        }
    }
}
