import Testing
import WireGuardCore

@Suite struct KeyPairSlotsTests {
    @Test func `an initiator's session is used at once, and the one before still receives`() {
        var slots = KeyPairSlots<Int>()
        #expect(slots.install(1, isInitiator: true) == [])
        #expect(slots.install(2, isInitiator: true) == [])
        #expect(slots.current == 2 && slots.previous == 1 && slots.next == nil)
        #expect(slots.install(3, isInitiator: true) == [1])
        #expect(slots.all == [3, 2])
    }

    @Test func `a responder's session waits until the peer has used it`() {
        var slots = KeyPairSlots<Int>()
        _ = slots.install(1, isInitiator: true)
        #expect(slots.install(2, isInitiator: false) == [])
        #expect(slots.current == 1 && slots.next == 2)
        #expect(slots.promote() == nil)
        #expect(slots.current == 2 && slots.previous == 1 && slots.next == nil)
        #expect(slots.install(3, isInitiator: false) == [1])
        #expect(slots.install(4, isInitiator: false) == [3])
        #expect(slots.current == 2 && slots.next == 4 && slots.previous == nil)
    }

    @Test func `when both ends started at once, the waiting session goes on receiving`() {
        var slots = KeyPairSlots<Int>()
        _ = slots.install(1, isInitiator: true)
        _ = slots.install(2, isInitiator: false)
        #expect(slots.install(3, isInitiator: true) == [1])
        #expect(slots.current == 3 && slots.previous == 2 && slots.next == nil)
    }

    @Test func `those that fit are taken out of their places, and the others keep theirs`() {
        var slots = KeyPairSlots<Int>()
        _ = slots.install(1, isInitiator: true)
        _ = slots.install(2, isInitiator: false)
        _ = slots.promote()
        _ = slots.install(3, isInitiator: false)
        #expect(slots.remove { $0 == 2 } == [2])
        #expect(slots.current == nil && slots.previous == nil && slots.next == 3)
        _ = slots.install(4, isInitiator: true)
        #expect(slots.current == 4 && slots.previous == 3)
        #expect(slots.remove { $0 < 4 } == [3])
        #expect(slots.current == 4 && slots.previous == nil)
        #expect(slots.remove { _ in true } == [4])
        #expect(slots.all == [])
    }

    @Test func `with nothing waiting there is nothing to promote`() {
        var slots = KeyPairSlots<Int>()
        _ = slots.install(1, isInitiator: true)
        #expect(slots.promote() == nil)
        #expect(slots.current == 1)
        slots.removeAll()
        #expect(slots.all == [])
    }
}
