import ControlAPI
import Testing

@testable import ControlDaemon

@Suite struct NestingTests {
    private static func configuration(_ name: String, in outer: String? = nil, user: UInt32 = 0) -> Configuration {
        var configuration = Configuration(
            name: name,
            owner: Configuration.Owner(user: user),
            provider: Configuration.Provider(identifier: "org.example", configuration: .object([:]))
        )
        configuration.identifier = "id-\(name)-\(user)"
        configuration.nestedIn = outer
        return configuration
    }

    private func fault(_ configuration: Configuration, among all: [Configuration]) -> String? {
        do throws(ControlError) {
            try Nesting.check(configuration, among: all)
            return nil
        } catch {
            #expect(error.name == .configurationInvalid && error.field == "nestedIn")
            return error.reason
        }
    }

    @Test func `a chain leads from the next tunnel to the outermost, by names and identifiers`() {
        let outer = Self.configuration("outer")
        let middle = Self.configuration("middle", in: "id-outer-0")
        let inner = Self.configuration("inner", in: "middle")
        #expect(Nesting.chain(of: inner, among: [outer, middle, inner]).map(\.name) == ["middle", "outer"])
        #expect(fault(inner, among: [outer, middle, inner]) == nil)
        #expect(Nesting.chain(of: outer, among: [outer, middle, inner]) == [])
    }

    @Test func `itself, a circle, and what isn't there are refused, each by its names`() {
        let outer = Self.configuration("outer")
        let middle = Self.configuration("middle", in: "outer")
        let inner = Self.configuration("inner", in: "middle")
        let all = [outer, middle, inner]
        #expect(fault(Self.configuration("inner", in: "inner"), among: all) == "It names itself.")
        #expect(fault(Self.configuration("inner", in: "nobody"), among: all) == "There is no configuration nobody.")
        let closed = fault(Self.configuration("outer", in: "inner"), among: all)
        #expect(closed == "The tunnels would be nested in a circle: outer in inner in middle in outer.")
        // One that leads into a circle of others has no end either.
        let circle = [Self.configuration("a", in: "b"), Self.configuration("b", in: "a")]
        #expect(fault(Self.configuration("c", in: "a"), among: circle)?.contains("c in a in b in a") == true)
    }

    @Test func `the name that is being saved counts, not the one before`() {
        let waiting = Self.configuration("middle", in: "office")
        var outer = Self.configuration("outer", in: "middle")
        let all = [Self.configuration("outer"), waiting]
        #expect(fault(outer, among: all) == nil)
        outer.name = "office"
        let closed = fault(outer, among: all)
        #expect(closed == "The tunnels would be nested in a circle: office in middle in office.")
        // A new one may name itself, too.
        #expect(fault(Self.configuration("new", in: "new"), among: all) == "It names itself.")
    }

    @Test func `a user's own comes before the system's of the same name, and other users' don't count`() {
        let all = [
            Self.configuration("office"), Self.configuration("office", user: 1000),
            Self.configuration("office", user: 1001), Self.configuration("theirs", user: 1001),
        ]
        let mine = Self.configuration("home", in: "office", user: 1000)
        #expect(Nesting.chain(of: mine, among: all).map(\.identifier) == ["id-office-1000"])
        let system = Self.configuration("home", in: "office")
        #expect(Nesting.chain(of: system, among: all).map(\.identifier) == ["id-office-0"])
        #expect(fault(Self.configuration("home", in: "theirs", user: 1000), among: all) != nil)
    }
}
