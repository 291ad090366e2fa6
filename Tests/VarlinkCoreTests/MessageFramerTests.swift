import Testing
@testable import VarlinkCore

@Suite struct `Message framer` {
    @Test func `messages are cut at each NUL, however the bytes arrive`() throws {
        let stream = Array("one\0two\0\0four".utf8)
        for size in 1...stream.count {
            var framer = MessageFramer()
            var messages: [String] = []
            for begin in stride(from: 0, to: stream.count, by: size) {
                framer.append(stream[begin..<min(begin + size, stream.count)])
                while let message = try framer.next() { messages.append(String(decoding: message, as: UTF8.self)) }
            }
            #expect(messages == ["one", "two", ""])
            #expect(framer.bufferedBytes == 4)
            #expect(framer.consumedBytes == 9)
        }
    }

    @Test func `a message at the limit passes, one byte more is refused for good`() throws {
        var framer = MessageFramer(limit: 10)
        framer.append(Array(repeating: 1, count: 10) + [0])
        #expect(try framer.next()?.count == 10)
        framer.append(Array(repeating: 1, count: 11) + [0])
        #expect(throws: MessageError.tooLong(limit: 10)) { try framer.next() }
        framer.append([1, 0])
        #expect(throws: MessageError.tooLong(limit: 10)) { try framer.next() }
        #expect(framer.bufferedBytes == 0)
    }

    @Test func `an endless message is refused without waiting for its end`() throws {
        var framer = MessageFramer(limit: 10)
        framer.append(Array(repeating: 1, count: 10))
        #expect(try framer.next() == nil)
        framer.append([1])
        #expect(throws: MessageError.tooLong(limit: 10)) { try framer.next() }
    }
}
