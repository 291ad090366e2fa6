import ControlAPI
import FoundationEssentials
import NetworkTypes
import Testing
import WireGuardConfig

/// No message holds eight characters in a row of a secret, whatever is done to the text that it stands in.
@Suite struct SecrecyTests {
    private static let keys = [Sample.privateKey] + Sample.presharedKeys
    private static let parts: [Range<UInt64>] = (0..<4).map { $0 * 500..<($0 + 1) * 500 }

    @Test(arguments: parts)
    func `no message about a damaged file holds a piece of a secret`(seeds: Range<UInt64>) {
        for seed in seeds {
            let file = Self.damaged(Array(Sample.whole.utf8), seed: seed)
            let text: String
            do {
                let result = try ConfigurationReader.read(file)
                text = result.report.entries.map(\.description).joined(separator: "\n")
            } catch {
                text = error.description
            }
            Self.expectNoSecret(in: text, "seed \(seed)")
        }
    }

    @Test func `no message about a configuration's JSON holds a piece of a secret`() throws {
        let json = try Reading(Sample.whole).configuration.json
        for key in Self.keys + Self.keys.map({ String($0.dropLast()) }) + Self.keys.map(Self.hexadecimal) {
            for damaged in Self.replacements(in: json, by: key) {
                let errors = WireGuardConfiguration.validate(damaged)
                Self.expectNoSecret(in: errors.map(\.description).joined(separator: "\n"), key)
            }
        }
    }

    @Test(arguments: [
        "DNS = KEY", "DNS = ~KEY", "DNS = KEY.example", "Table = KEY", "Table = HEX",
    ])
    func `a key that could be a name is refused, not kept`(line: String) {
        // Of all characters of base64, only + and / stand in no name.
        let key = "MK49gIlwVCRrsqqcB4Jly1C3dlf1wzZaDsLemDSLRmU"
        let text = line.replacing("KEY", with: key).replacing("HEX", with: Self.hexadecimal(Sample.privateKey))
        let refused = errors(of: Sample.file(interface: text))
        #expect(refused.count == 1)
        #expect(!refused.joined().contains("gIlwVCRr"))
        let endpoint = errors(of: Sample.file(peer: "AllowedIPs = ::/0\nEndpoint = \(key):51820"))
        #expect(
            endpoint == [
                "line 7, column 12: Endpoint: has a part that looks like a key. Write the name of a host or domain."
            ]
        )
    }

    @Test func `a key in a hook is warned of, not shown, and exported only with the secrets`() throws {
        let key = Sample.presharedKeys[0]
        let command = "wg set %i peer \(Sample.peers[0]) preshared-key <(echo \(key))"
        let hooks = [
            command, "echo \(Self.hexadecimal(key))", "key=\(key) x", "ls /etc/wireguard/a/rather/deep/folder/of/files",
        ]
        let lines = hooks.map { "PostUp = \($0)" }.joined(separator: "\n")
        let text = Sample.file(interface: lines, peer: "AllowedIPs = ::/0")
        let result = try ConfigurationReader.read(Array(text.utf8))
        #expect(result.report.warnings.map(\.line) == [3, 4, 5])
        let shown = result.configuration.hooks.map { $0.shownCommand(in: result.configuration) }
        #expect(shown[0] == "wg set %i peer \(Sample.peers[0]) preshared-key <(echo (a key, hidden))")
        #expect(shown[1...] == ["echo (a key, hidden)", "key=(a key, hidden) x", hooks[3]])
        Self.expectNoSecret(in: result.report.entries.map(\.description).joined(separator: "\n"), "the report")
        let export = ConfigurationWriter.text(of: result.configuration)
        Self.expectNoSecret(in: export, "the export")
        #expect(export.contains("\nPostUp = \(hooks[3])\n") && export.contains("# PostUp is left out, for it holds"))
        let whole = try ConfigurationWriter.bytes(of: result.configuration, with: result.secrets)
        #expect(String(decoding: whole, as: UTF8.self).contains("PostUp = \(command)\n"))
    }

    @Test func `a key in the place of a reference is refused`() throws {
        for key in [Sample.privateKey, String(Sample.privateKey.dropLast()), Self.hexadecimal(Sample.privateKey)] {
            let errors = WireGuardConfiguration.validate(["privateKeyReference": .string(key)])
            #expect(errors.map(\.problem) == ["looks like a key itself"])
        }
    }

    @Test func `a configuration written as JSON holds no secret`() throws {
        let configuration = try Reading(Sample.whole).configuration
        let text = String(decoding: try JSONEncoder().encode(configuration), as: UTF8.self)
        Self.expectNoSecret(in: text.replacing("\\/", with: "/"), "the JSON")
    }

    /// The file after a few cuts, joins, swaps and insertions.
    private static func damaged(_ file: [UInt8], seed: UInt64) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        var file = file
        for _ in 0..<random.number(1...6) {
            let position = random.number(0...file.count - 1)
            switch random.number(0...4) {
            case 0: file.remove(at: position)
            case 1: file.insert(random.pick(Array("\n=#[],: \t;\u{0}/.x".utf8)), at: position)
            case 2: file.removeAll { $0 == UInt8(ascii: "=") && random.chance(10) }
            case 3: file.removeAll { $0 == UInt8(ascii: "\n") && random.chance(10) }
            default:
                let key = Array(random.pick(keys).utf8)
                file.insert(contentsOf: key.dropFirst(random.number(0...20)), at: position)
            }
        }
        return file
    }

    /// Copies of a value, in each of which one string is another one.
    private static func replacements(in value: JSONValue, by text: String) -> [JSONValue] {
        switch value {
        case .string: return [.string(text), .object([text: .null, "x": .string(text)])]
        case .array(let items):
            return items.indices.flatMap { index in
                replacements(in: items[index], by: text).map { replacement in
                    var copy = items
                    copy[index] = replacement
                    return .array(copy)
                }
            }
        case .object(let members):
            return members.keys.flatMap { key in
                (members[key].map { replacements(in: $0, by: text) } ?? []).map { replacement in
                    var copy = members
                    copy[key] = replacement
                    return .object(copy)
                }
            }
        default: return [.string(text)]
        }
    }

    private static func hexadecimal(_ key: String) -> String {
        Sample.bytes(key).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static let pieces: Set<String> = {
        var pieces: Set<String> = []
        for key in keys {
            for text in [key, hexadecimal(key)] {
                let bytes = Array(text.utf8)
                for start in 0...bytes.count - 8 {
                    pieces.insert(String(decoding: bytes[start..<start + 8], as: UTF8.self))
                }
            }
        }
        return pieces
    }()

    private static func expectNoSecret(in text: String, _ comment: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 8 else { return }
        for start in 0...bytes.count - 8 {
            let piece = String(decoding: bytes[start..<start + 8], as: UTF8.self)
            guard pieces.contains(piece) else { continue }
            Issue.record("\(comment): a message holds a piece of a secret")
            return
        }
    }
}
