import ControlAPI
import ProviderRuntime
import Testing

struct RequestBookTests {
    @Test func `requests have numbers of their own and give their context back`() throws {
        var book = RequestBook<String>()
        let first = book.add(.resolve, name: "vpn.example", context: "peer A")
        let second = book.add(.sockets, port: 51820, context: "port")
        #expect(first == ProviderRequest(number: 1, kind: .resolve, name: "vpn.example"))
        #expect(second == ProviderRequest(number: 2, kind: .sockets, port: 51820))
        let contexts = [try book.answer(2), try book.answer(1)]
        #expect(contexts == ["port", "peer A"])
    }

    @Test func `an answer to nothing is refused`() throws {
        var book = RequestBook<String>()
        _ = book.add(.resolve, name: "vpn.example", context: "peer A")
        _ = try book.answer(1)
        for number in [1, 0, -1, 2] {
            let error = #expect(throws: ControlError.self) { try book.answer(number) }
            #expect(error?.name == .notFound)
            #expect(error?.field == "request")
        }
    }

    @Test func `the unanswered ones are told again in their order`() throws {
        var book = RequestBook<Int>()
        _ = book.add(.resolve, name: "a", context: 0)
        _ = book.add(.resolve, name: "b", context: 1)
        _ = book.add(.resolve, name: "c", context: 2)
        _ = try book.answer(2)
        #expect(book.unanswered.map(\.name) == ["a", "c"])
    }

    @Test func `a withdrawn request takes no answer and its number is not used again`() throws {
        var book = RequestBook<Int>()
        _ = book.add(.resolve, name: "a", context: 0)
        book.withdraw { $0 == 0 }
        #expect(book.unanswered.isEmpty)
        #expect(throws: ControlError.self) { try book.answer(1) }
        let next = book.add(.resolve, name: "b", context: 1)
        #expect(next.number == 2)
    }
}
