import NetworkTypes
import Testing

@Suite struct TokenBucketTests {
    private let start = Instant.zero + .seconds(100)

    @Test func `a burst is had at once, and then a token at a time`() {
        var bucket = TokenBucket(perSecond: 10, burst: 50)
        #expect(taken(60, from: &bucket, at: start) == 50)
        let later: [(Int, Int)] = [(99, 0), (100, 1), (250, 1), (299, 0), (300, 1), (1000, 7)]
        for (milliseconds, count) in later {
            #expect(taken(9, from: &bucket, at: start + .milliseconds(milliseconds)) == count, "\(milliseconds) ms")
        }
    }

    @Test func `it fills up to the burst and no further`() {
        var bucket = TokenBucket(perSecond: 10, burst: 50)
        #expect(taken(100, from: &bucket, at: start) == 50)
        #expect(taken(100, from: &bucket, at: start + .seconds(1_000_000)) == 50)
    }

    private func taken(_ wanted: Int, from bucket: inout TokenBucket, at now: Instant) -> Int {
        var count = 0
        for _ in 0..<wanted where bucket.take(now: now) { count += 1 }
        return count
    }
}
