import FoundationEssentials
import Glibc
import LinuxSystem
import Netlink

/// The block at boot, before tunneld: a file in the state directory, which `tunnel-block` loads.
///
/// It lets nothing pass but what every link needs; tunneld takes it over without a moment between. The file names the
/// links that there were: kernels from 6.16 on bind a chain to a link that is still to come, on older ones packet sockets
/// are free on a link that appears between the boot and tunneld's start. What goes through the IP stack is blocked anyhow.
/// The program has the same rules in it: a file that can't be used still says that somebody wants them.
package enum BootBlock {
    package static func path(inState folder: String) -> String { folder + "/block.nft" }

    /// The file's text.
    ///
    /// - Parameter links: by name, those that are to be expected.
    package static func text(links: [String]) -> String {
        let names = links.filter(BlockRules.canName).map { "\(linkMark)\($0)\n" }.joined()
        return "# Written by tunneld for tunnel-block, which loads it at boot; changes are overwritten.\n\(names)"
            + BlockRules.load(.nothing)
    }

    private static let linkMark = "# link "
    private static let limit = 1 << 20

    package enum Outcome: Equatable, Sendable {
        /// No configuration asks for it.
        case notWanted
        /// tunneld, or an earlier call, was here before.
        case alreadyInForce
        /// - Parameters:
        ///   - early: links that aren't there yet, whose packet sockets are blocked all the same.
        ///   - fault: why the file's own rules weren't taken; nil where they were.
        case loaded(early: [String], fault: String?)
    }

    /// Loads the file, unless the block is in force already.
    ///
    /// That the file is there says that traffic is to be blocked; what it can't be used for is done without it.
    ///
    /// - Throws: `BlockError`.
    package static func load(_ path: String) throws -> Outcome {
        var status = stat()
        // The name itself: a link that leads nowhere asks for the block, too.
        if unsafe lstat(path, &status) != 0, SystemError(errno, call: "lstat").isAbsentFile { return .notWanted }
        let script = script(at: path)
        let nftables = try open()
        if let tables = try? nftables.run("list tables"), BlockRules.isPresent(in: tables) { return .alreadyInForce }
        let present = try KernelTables(socket: try RouteSocket()).links()
        let here = present.filter { !$0.isLoopback && BlockRules.canName($0.name) }.map(\.name)
        let early = script.links.filter { name in !present.contains { $0.name == name } }
        if !early.isEmpty, (try? nftables.run(BlockRules.load(.nothing) + chains(here + early))) != nil {
            return .loaded(early: early, fault: script.fault)
        }
        do throws(NftablesError) {
            try nftables.run(BlockRules.load(.nothing) + chains(here))
        } catch {
            throw BlockError.load(error)
        }
        return .loaded(early: [], fault: script.fault)
    }

    /// What the file says: the links that it expects, and why its rules can't be taken.
    ///
    /// They can where they are those that this version writes. A file that was cut off might be loaded and block half;
    /// one that was changed might let pass whatever it wants.
    static func read(_ text: String) -> (links: [String], fault: String?) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let links = lines.filter { $0.hasPrefix(linkMark) }.map { String($0.dropFirst(linkMark.count)) }
            .filter(BlockRules.canName)
        if text.utf8.isEmpty { return ([], "it is empty") }
        let rules = lines.drop { $0.hasPrefix("#") }.joined(separator: "\n")
        return (links, rules == BlockRules.load(.nothing) ? nil : "its rules aren't those that this version writes")
    }

    private static func script(at path: String) -> (links: [String], fault: String?) {
        do throws(SystemError) {
            return read(String(decoding: try FileSystem.contents(ofFile: path, limit: limit), as: UTF8.self))
        } catch {
            return ([], "\(error)")
        }
    }

    /// Takes all rules of the block away, whoever loaded them; for `repair`.
    ///
    /// - Returns: whether there were any.
    package static func remove() throws -> Bool {
        let nftables = try open()
        guard let tables = try? nftables.run("list tables"), BlockRules.isPresent(in: tables) else { return false }
        do throws(NftablesError) { try nftables.run(BlockRules.remove) } catch { throw BlockError.remove(error) }
        return true
    }

    private static func open() throws -> NftablesContext {
        // A kernel without nftables is found by this; libnftables would end the process.
        do { _ = try BlockWatch() } catch { throw BlockError.load(error) }
        return try NftablesContext()
    }

    /// Not numbered as tunneld does it: a link that is to come has no number yet.
    private static func chains(_ names: [String]) -> String {
        names.enumerated().map { BlockRules.add(link: $1, chain: "boot\($0)") }.joined()
    }
}
