import ControlAPI
import Glibc
import LinuxSystem
import Synchronization
import Testing

@testable import CommandLineTool

/// `edit`, with scripts in the place of an editor.
@Suite struct EditCommandTests {
    private let folder: String

    init() throws {
        var template = Array("/tmp/edit-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError(errno, in: "mkdtemp") }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func fake() async throws -> FakeTunneld {
        let fake = try await FakeTunneld()
        fake.update { $0.configurations = [Samples.configuration()] }
        return fake
    }

    /// Runs `edit home` with an editor that is a script of the shell's; its n-th round calls the n-th function.
    private func edit(
        _ fake: FakeTunneld,
        _ rounds: String...,
        options: [String] = [],
        input: String = ""
    ) async throws -> Ran {
        let script = """
            #!/bin/sh
            round=$(cat \(folder)/round 2>/dev/null || echo 0); round=$((round + 1)); echo $round > \(folder)/round
            cp "$1" \(folder)/shown-$round
            case $round in
            \(rounds.enumerated().map { "\($0 + 1)) \($1) ;;" }.joined(separator: "\n"))
            esac
            """
        try AtomicFile.write(Array(script.utf8), to: "\(folder)/editor", mode: 0o700)
        let answers = try Self.pipe(holding: input)
        return await Ran.run(
            ["edit", "home"] + options,
            socket: fake.socket,
            input: answers.raw,
            environment: ["EDITOR": "\(folder)/editor", "TMPDIR": folder]
        )
    }

    private static func pipe(holding text: String) throws -> SharedDescriptor {
        let pipe = try Pipe.make()
        _ = unsafe write(pipe.writer.raw, text, text.utf8.count)
        return pipe.reader
    }

    private func shown(_ round: Int) throws -> String {
        String(decoding: try FileSystem.contents(ofFile: "\(folder)/shown-\(round)", limit: 1 << 20), as: UTF8.self)
    }

    /// The files that were kept for the person.
    private func kept() throws -> [String] {
        try FileSystem.names(inFolder: folder).filter { $0.hasPrefix("tunnelctl-edit-") }
    }

    private func end(_ fake: FakeTunneld) async throws {
        await fake.stop()
        try FolderRemoval.remove(folder)
    }

    @Test func `what was typed is saved at the generation that was loaded, and the file is gone`() async throws {
        let fake = try await fake()
        let ran = try await edit(fake, #"sed -i 's/"includeAllNetworks" : false/"includeAllNetworks" : true/' "$1""#)
        #expect(ran.code == .done && ran.output == "home has generation 8 now.\n", "\(ran.errors)")
        let save = try #require(fake.update { $0.saves }.first)
        var wanted = Samples.configuration()
        wanted.includeAllNetworks = true
        #expect(save.generation == 7 && save.configuration == wanted)
        #expect(try shown(1).hasPrefix("# home, generation 7."))
        #expect(try kept().isEmpty)
        try await end(fake)
    }

    @Test func `an unchanged file saves nothing`() async throws {
        let fake = try await fake()
        let ran = try await edit(fake, "true")
        #expect(ran.code == .done && ran.output == "home wasn't changed; nothing is saved.\n")
        #expect(fake.update { $0.saves }.isEmpty)
        #expect(try kept().isEmpty)
        try await end(fake)
    }

    @Test func `what can't be read is opened again with the error above what was typed`() async throws {
        let fake = try await fake()
        let ran = try await edit(
            fake,
            #"sed -i 's/"enabled" : true,/"enabled" : true/' "$1""#,
            #"sed -i 's/"enabled" : true$/"enabled" : false,/' "$1""#
        )
        #expect(ran.code == .done, "\(ran.errors)")
        let again = try shown(2)
        #expect(again.hasPrefix("#! This isn't JSON.\n"), "\(again)")
        #expect(again.contains("#! Leave the file as it is to give up") && again.contains(#""enabled" : true"#))
        #expect(again.contains("line"), "\(again)")
        #expect(fake.update { $0.saves }.first?.configuration.enabled == false)
        #expect(try kept().isEmpty)
        try await end(fake)
    }

    @Test func `a key that there is not is told with the nearest one`() async throws {
        let fake = try await fake()
        let ran = try await edit(fake, #"sed -i 's/"startAtBoot"/"startAtBot"/' "$1""#, "true")
        #expect(ran.code == .failed)
        #expect(
            try shown(2).contains(
                "#! There is no key \"startAtBot\".\n#! at: startAtBot\n#! do: Did you mean startAtBoot?"
            )
        )
        try await end(fake)
    }

    @Test func `a key that stands there twice is told, for one of them would count for nothing`() async throws {
        let fake = try await fake()
        let ran = try await edit(
            fake,
            #"sed -i 's/^{/{"startAtBoot" : true,/' "$1""#,
            #"sed -i 's/^{"startAtBoot" : true,/{/' "$1""#
        )
        #expect(ran.code == .done, "\(ran.errors)")
        let again = try shown(2)
        #expect(
            again.contains("#! \"startAtBoot\" stands there twice.\n#! at: startAtBoot\n#! do: Keep the one"),
            "\(again)"
        )
        #expect(fake.update { $0.saves }.isEmpty)
        try await end(fake)
    }

    @Test func `what tunneld refuses and the person gives up stays in its file`() async throws {
        let fake = try await fake()
        fake.update {
            $0.errors["Save"] = ControlError(
                .configurationInvalid,
                "It can't be saved.",
                reason: "R",
                remedy: "M",
                field: "username"
            )
        }
        let ran = try await edit(fake, #"sed -i 's/"username" : null/"username" : "eva"/' "$1""#, "true")
        #expect(ran.code == .failed)
        let folders = try kept()
        let path = "\(folder)/\(try #require(folders.first))/home.json"
        #expect(ran.errors.contains("do: M What you typed is in \(path)."), "\(ran.errors)")
        let text = String(decoding: try FileSystem.contents(ofFile: path, limit: 1 << 20), as: UTF8.self)
        #expect(text.contains(#""username" : "eva""#))
        #expect(text.contains("#! It can't be saved.\n#! at: username\n#! why: R\n#! do: M\n"))
        var status = stat()
        #expect(unsafe stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        try await end(fake)
    }

    @Test func `a program that spoils the file each time isn't called for ever`() async throws {
        let fake = try await fake()
        let spoil = #"echo garbage >> "$1""#
        let ran = try await edit(fake, spoil, spoil, spoil, spoil, spoil)
        #expect(ran.code == .failed && ran.errors.contains("What you typed is in"), "\(ran.errors)")
        #expect(try FileSystem.names(inFolder: folder).filter { $0.hasPrefix("shown-") }.count == 3)
        #expect(fake.update { $0.saves }.isEmpty)
        #expect(try kept().count == 1)
        try await end(fake)
    }

    @Test func `an editor that fails saves nothing`() async throws {
        let fake = try await fake()
        let ran = try await edit(fake, #"sed -i 's/"enabled" : true/"enabled" : false/' "$1"; exit 3"#)
        #expect(ran.code == .failed && ran.errors.contains("ended with exit code 3"))
        #expect(fake.update { $0.saves }.isEmpty)
        #expect(try kept().count == 1 && ran.errors.contains("What you typed is in"))
        try await end(fake)
    }

    @Test(arguments: [("o\n", ExitCode.done), ("", .failed), ("x\nq\n", .failed)])
    func `over somebody else's save it is the person who decides`(input: String, code: ExitCode) async throws {
        let fake = try await fake()
        fake.update { $0.onSave = Self.staleOnce }
        let ran = try await edit(fake, #"sed -i 's/"enabled" : true/"enabled" : false/' "$1""#, input: input)
        #expect(ran.code == code, "\(ran.errors)")
        #expect(ran.errors.contains("there: username: unset → \"eva\""))
        let saves = fake.update { $0.saves }
        #expect(saves.map(\.generation) == (code == .done ? [7, 8] : [7]))
        #expect(try kept().count == (code == .done ? 0 : 1))
        try await end(fake)
    }

    @Test func `what was typed can be edited again beside what somebody else saved`() async throws {
        let fake = try await fake()
        fake.update { $0.onSave = Self.staleOnce }
        let ran = try await edit(
            fake,
            #"sed -i 's/"enabled" : true/"enabled" : false/' "$1""#,
            #"sed -i 's/"username" : null/"username" : "eva"/' "$1""#,
            input: "e\n"
        )
        #expect(ran.code == .done, "\(ran.errors)")
        #expect(try shown(2).contains("#!   username: unset → \"eva\"\n"))
        let last = try #require(fake.update { $0.saves }.last)
        #expect(last.generation == 8 && last.configuration.username == "eva" && !last.configuration.enabled)
        try await end(fake)
    }

    @Test func `as a conf file the keys are left out, and stay what they are`() async throws {
        let fake = try await fake()
        var stored = Samples.configuration()
        stored.provider?.configuration = [
            "privateKeyReference": "keychain:0123456789abcdef0123456789abcdef", "addresses": ["10.20.0.1/24"],
            "peers": [
                [
                    "publicKey": .string(Samples.peerKey), "allowedIPs": ["10.20.0.0/24"],
                    "presharedKeyReference": "keychain:ffffffffffffffffffffffffffffffff",
                    "endpoint": "vpn.example.org:51820",
                ]
            ],
        ]
        fake.update { [stored] in $0.configurations = [stored] }
        let ran = try await edit(
            fake,
            #"sed -i 's/:51820/:51821/; s/^\[Peer\]/[Pear]/' "$1""#,
            #"sed -i 's/^\[Pear\]/[Peer]/' "$1""#,
            options: ["--conf"]
        )
        #expect(ran.code == .done, "\(ran.errors)")
        #expect(try !shown(1).contains("keychain:") && shown(1).contains("Endpoint = vpn.example.org:51820"))
        #expect(try shown(2).hasPrefix("#! This file can't be used.\n"))
        let saved = try #require(fake.update { $0.saves }.first)
        var wanted = stored
        wanted.provider?.configuration = try #require(saved.configuration.provider).configuration
        #expect(saved.configuration == wanted && saved.secrets == nil)
        let peer = try #require(saved.configuration.provider?.configuration["peers"]?.array?.first)
        #expect(peer["endpoint"] == "vpn.example.org:51821")
        #expect(peer["presharedKeyReference"] == "keychain:ffffffffffffffffffffffffffffffff")
        try await end(fake)
    }

    private static let staleOnce:
        @Sendable (FakeTunneld, ConfigurationsCalls.SaveParameters) throws -> ConfigurationsCalls.SaveReply = {
            fake,
            it in
            guard fake.update({ $0.saves.count == 1 }) else {
                return .init(identifier: Samples.home, generation: (it.generation ?? 0) + 1, warnings: [])
            }
            fake.update {
                $0.configurations[0].generation = 8
                $0.configurations[0].username = "eva"
            }
            throw ControlError(.configurationStale, "It is stale.")
        }
}
