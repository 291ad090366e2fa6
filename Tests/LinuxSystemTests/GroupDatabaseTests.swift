import LinuxSystem
import Testing

@Suite struct GroupDatabaseTests {
    @Test func `a group is found however long its entry is`() {
        #expect(GroupDatabase.identifier(of: "root") == 0)
        // With room for nothing at first.
        #expect(GroupDatabase.identifier(of: "root", guess: 1) == 0)
    }

    @Test func `one that the machine doesn't have isn't found`() {
        #expect(GroupDatabase.identifier(of: "no such group") == nil)
        #expect(GroupDatabase.identifier(of: "") == nil)
    }
}
