import NetworkTypes
import Testing
import WireGuardCore

@Suite struct TrafficSampleTests {
    @Test func `data that found no answer is known by its first packet`() {
        var sample = TrafficSample()
        sample.noteSent(isData: true, bytes: 128, now: at(1))
        sample.noteSent(isData: true, bytes: 128, now: at(2))
        #expect(sample.unansweredSince == at(1))
        #expect(sample.lastDataSent == at(2))
        #expect(sample.wantsTimer)
        sample.noteReceived(isData: false, bytes: 32, now: at(3))
        #expect(sample.unansweredSince == nil)
        #expect(!sample.wantsTimer)
        #expect(sample.sentBytes == 256)
        #expect(sample.receivedBytes == 32)
    }

    @Test func `a keepalive is neither unanswered data nor owed an answer`() {
        var sample = TrafficSample()
        sample.noteSent(isData: false, bytes: 32, now: at(1))
        sample.noteReceived(isData: false, bytes: 32, now: at(2))
        #expect(!sample.wantsTimer)
        #expect(sample.lastDataSent == nil && sample.lastDataReceived == nil)
        #expect(sample.lastAnySent == at(1) && sample.lastAnyReceived == at(2))
    }

    @Test func `data that came in is owed an answer from its first packet on`() {
        var sample = TrafficSample()
        sample.noteReceived(isData: true, bytes: 128, now: at(1))
        sample.noteReceived(isData: true, bytes: 128, now: at(2))
        #expect(sample.owedSince == at(1))
        sample.noteSent(isData: false, bytes: 32, now: at(3))
        #expect(sample.owedSince == nil)
    }

    @Test func `a new session settles both`() {
        var sample = TrafficSample()
        sample.noteReceived(isData: true, bytes: 128, now: at(1))
        sample.noteSent(isData: true, bytes: 128, now: at(2))
        sample.noteInstalled(isInitiator: true, now: at(3))
        #expect(!sample.wantsTimer)
        #expect(sample.lastAnyReceived == at(3))
    }

    private func at(_ seconds: Int) -> Instant { .zero + .seconds(seconds) }
}
