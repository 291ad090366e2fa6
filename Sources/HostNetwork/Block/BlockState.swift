import FoundationEssentials
import LinuxSystem

/// What the next tunneld must know of the block, to go on with it without touching it.
struct BlockState: Codable, Sendable {
    static let version = 1
    private static let limit = 32 << 20

    /// What was loaded last, and how the kernel showed it then, with the handle of every rule.
    struct Loaded: Codable, Sendable {
        /// The script's fixed part: another tunneld may have other rules.
        var rules: String
        var content: BlockContent
        var listing: String
    }

    var version = BlockState.version
    var members: [String: BlockMember] = [:]
    var sinceMilliseconds: Int64?
    var restored = 0
    var lastRestoredMilliseconds: Int64?
    var loaded: Loaded?

    var holders: Set<String> { Set(members.filter(\.value.holds).keys) }

    /// What an earlier tunneld left; nothing where that can't be read: the rules are then loaded anew.
    static func read(_ path: String) -> BlockState {
        guard let bytes = try? FileSystem.contents(ofFile: path, limit: limit),
            let state = try? JSONDecoder().decode(BlockState.self, from: Data(bytes)), state.version == version
        else { return BlockState() }
        return state
    }

    func write(_ path: String) throws(SystemError) {
        // These values can always be coded.
        guard let bytes = try? JSONEncoder().encode(self) else { return }
        try AtomicFile.write(Array(bytes), to: path, mode: 0o600)
    }
}
