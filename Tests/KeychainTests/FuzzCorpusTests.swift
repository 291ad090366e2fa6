import ControlAPI
import TestSupport
import Testing

@testable import Keychain

/// The corpus of `Tests/Fuzz/FuzzKeychainItem`.
@Suite struct FuzzCorpusTests {
    @Test func `every input is an item whose secret lies inside of it, or has a fault with a text`() throws {
        var items = 0
        for input in try fuzzCorpus("FuzzKeychainItem") {
            do throws(ItemFile.Fault) {
                let item = try ItemFile(parsing: unsafe input.span.bytes)
                let range =
                    switch item.body {
                    case .plain(let range): range
                    case .sealed(_, let range): range
                    }
                #expect(!range.isEmpty && range.lowerBound >= 16 && range.upperBound == input.count)
                let header = try ItemFile.header(parsing: unsafe input.span.bytes)
                #expect(header == item.header)
                items += 1
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
        #expect(items == 4)
    }
}
