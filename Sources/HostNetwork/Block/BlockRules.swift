/// The scripts for nftables that put the block in force, change it and take it away; each is one transaction.
///
/// Two tables, because no single one sees everything: `inet` has what is sent through the machine's IP stack, with an
/// error for the sender; `netdev` has what leaves by a link, whoever made it, packet sockets and bridges too. The rules
/// never change; what may pass stands in sets, so that a change of it leaves every rule and its counter alone.
enum BlockRules {
    /// Puts everything in force in place of whatever our tables held, with no moment between.
    static func load(_ content: BlockContent) -> String {
        var text = ""
        for table in BlockTable.allCases {
            // Adding first, so that deleting finds one.
            text += "add table \(table.name)\ndelete table \(table.name)\ntable \(table.name) {\n"
            for set in content.sets where set.table == table { text += set.declaration }
            text += (table == .inet ? BlockChains.inet : BlockChains.netdev) + "}\n"
        }
        for link in content.links { text += add(link) }
        return text
    }

    /// Leads from what is in force to what is wanted, without touching a rule; empty where there is no difference.
    static func change(from old: BlockContent, to new: BlockContent) -> String {
        var text = ""
        for (before, after) in zip(old.sets, new.sets) where before != after { text += after.update }
        let present = Set(old.links)
        let wanted = Set(new.links)
        // The same number under another name is another chain of the same name: first away, then anew.
        for link in old.links where !wanted.contains(link) { text += "delete chain \(chain(link))\n" }
        for link in new.links where !present.contains(link) { text += add(link) }
        return text
    }

    /// What is in every script whatever may pass: rules that differ from it are another tunneld's.
    static let fixed = load(.nothing) + add(InterfaceIdentity(index: 0, name: ""))

    /// Takes everything away; no error where there is nothing.
    static let remove = BlockTable.allCases.map { "add table \($0.name)\ndelete table \($0.name)\n" }.joined()

    private static func chain(_ link: InterfaceIdentity) -> String { "\(BlockTable.netdev.name) link\(link.index)" }

    private static func add(_ link: InterfaceIdentity) -> String { add(link: link.name, chain: "link\(link.index)") }

    /// Has a link's packets judged as they leave.
    static func add(link: String, chain: String) -> String {
        let chain = "\(BlockTable.netdev.name) \(chain)"
        return """
            add chain \(chain) { type filter hook egress device "\(link)" priority filter; policy drop; }
            add rule \(chain) jump egress
            add rule \(chain) counter comment "blocked"

            """
    }

    /// Whether one of our tables is in a list of tables, whoever made it.
    static func isPresent(in tables: String) -> Bool {
        BlockTable.allCases.contains { table in
            tables.split(separator: "\n").contains { $0.hasPrefix("table \(table.name)") }
        }
    }

    /// Whether a link's name can stand in a script: nftables knows no escape for a quote, and a star at the end is a
    /// pattern.
    static func canName(_ name: String) -> Bool {
        !name.utf8.contains { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "*") }
    }
}
