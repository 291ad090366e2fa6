import CommandLineTool
import ControlAPI
import FoundationEssentials
import Glibc
import LinuxSystem
import Testing
import WireGuardConfig

@Suite struct ImportCommandTests {
    private let privateKey = "YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="
    private let sharedKey = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE="

    private var conf: String {
        """
        # office
        [Interface]
        PrivateKey = \(privateKey)
        Address = 10.20.0.1/24
        DNS = 10.20.0.2, corp.test
        PostUp = touch /tmp/marker
        FwMark = 0x10
        [Peer]
        PublicKey = \(Samples.peerKey)
        PresharedKey = \(sharedKey)
        Endpoint = vpn.example.org:51820
        AllowedIPs = 10.20.0.7/24

        """
    }

    @Test func `a file is saved with its secrets in one call, and every line is reported`() async throws {
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles(["office.conf": conf])
        let ran = await Ran.tunnelctl("import", files["office.conf"], socket: fake.socket)
        #expect(ran.code == .done)
        let report = ran.output.replacing(files.folder, with: "FOLDER")
        #expect(report == (try fixture("import-report.txt")))
        #expect(!ran.output.contains(privateKey) && !ran.output.contains(sharedKey))
        let save = try #require(fake.update { $0.saves }.first)
        #expect(save.configuration.name == "office")
        #expect(save.configuration.enabled && !save.configuration.exclusive)
        #expect(save.configuration.owner.user == getuid())
        #expect(save.configuration.serverAddress == "vpn.example.org:51820")
        #expect(save.generation == 0)
        #expect(save.secrets?.map(\.kind) == [.privateKey, .sharedSecret])
        let stored = try WireGuardConfiguration(json: try #require(save.configuration.provider).configuration)
        #expect(stored.privateKeyReference == SecretPlaceholder.privateKey)
        #expect(stored.hooks.map(\.command) == ["touch /tmp/marker"])
        let secrets = fake.update { $0.savedSecrets }
        #expect(secrets.keys.sorted() == ["new:preshared-key-1", "new:private-key"])
        #expect(secrets[SecretPlaceholder.privateKey]?.count == 32)
        #expect(secrets[SecretPlaceholder.privateKey]?.prefix(2) == [0x60, 0x09])
        await fake.stop()
    }

    @Test func `a file that isn't text is one error, and of very many errors a person reads twenty`() async throws {
        let lines = (1...1500).map { "Mystery\($0) = 1\n" }.joined()
        let binary = String(decoding: (0..<4096).map { UInt8(truncatingIfNeeded: $0 % 128) }, as: UTF8.self)
        let files = try TemporaryFiles(["binary.conf": binary, "many.conf": "[Interface]\n" + lines])
        let ran = await Ran.tunnelctl("import", files["binary.conf"], socket: "")
        #expect(ran.code == .failed)
        #expect(
            ran.errors.replacing(files.folder, with: "FOLDER") == """
                tunnelctl: FOLDER/binary.conf can't be imported: 1 error; nothing was saved.
                  FOLDER/binary.conf: the file isn't text. Look whether it is the right file: a configuration is text in \
                UTF-8, and has an [Interface].

                """
        )
        let many = await Ran.tunnelctl("import", files["many.conf"], socket: "")
        let told = many.errors.split(separator: "\n")
        #expect(told.first?.hasSuffix("can't be imported: 1501 errors; nothing was saved.") == true)
        #expect(told.count == 22)
        #expect(told.last == "  and 1,481 more")
        let json = await Ran.tunnelctl("import", files["many.conf"], "--json", socket: "")
        let documents = json.errors.split(separator: "\n")
        #expect(documents.count == 1001)
        #expect(documents.last?.contains("501 more errors.") == true)
    }

    @Test func `an empty word is told by its name`() async {
        let ran = await Ran.tunnelctl("import", "", socket: "")
        #expect(ran.code == .wrongUsage)
        #expect(ran.errors.hasPrefix("tunnelctl: FILE|FOLDER is empty.\n  do: Usage: tunnelctl import FILE|FOLDER"))
        let up = await Ran.tunnelctl("up", "", socket: "")
        #expect(up.errors.hasPrefix("tunnelctl: NAME is empty."))
    }

    @Test func `as JSON the report is one document`() async throws {
        struct Document: Decodable {
            struct Hook: Decodable { let event, command: String }
            let file, name, identifier: String
            let generation: Int
            let replaced: Bool
            let hooks: [Hook]
            let report: ImportReport
        }
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles(["office.conf": conf])
        let ran = await Ran.tunnelctl("import", files["office.conf"], "--name", "work", "--json", socket: fake.socket)
        let document = try ran.json(Document.self)
        #expect(document.name == "work")
        #expect(document.identifier == Samples.newIdentifier)
        #expect(document.generation == 1 && !document.replaced)
        #expect(document.hooks.map(\.event) == ["PostUp"])
        #expect(document.report.privateKeys == 1 && document.report.presharedKeys == 1)
        await fake.stop()
    }

    @Test func `all errors of a file are told at once, and nothing is saved`() async throws {
        let fake = try await FakeTunneld()
        let bad = "[Interface]\nPrivateKey = \(privateKey.dropLast())\nTabel = off\n[Peer]\nEndpoint = x\n"
        let files = try TemporaryFiles(["bad.conf": bad])
        let ran = await Ran.tunnelctl("import", files["bad.conf"], socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.output.isEmpty)
        #expect(ran.errors.contains("can't be imported: 4 errors; nothing was saved."))
        for part in [
            "line 2, column 14: PrivateKey: ", "line 3: ", "Table", "line 4: ", "line 5, column 12: Endpoint: ",
        ] {
            #expect(ran.errors.contains(part), "\(part)")
        }
        #expect(!ran.errors.contains(privateKey.dropLast()))
        #expect(fake.update { $0.calls } == [])
        await fake.stop()
    }

    @Test func `with --strict a warning is an error`() async throws {
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles(["office.conf": conf + "AllowedIPs =\n"])
        let strict = await Ran.tunnelctl("import", files["office.conf"], "--strict", socket: fake.socket)
        #expect(strict.code == .failed)
        #expect(strict.errors.contains("--strict"))
        #expect(fake.update { $0.saves }.isEmpty)
        #expect(await Ran.tunnelctl("import", files["office.conf"], socket: fake.socket).code == .done)
        await fake.stop()
    }

    @Test func `a file that everybody may read is warned of`() async throws {
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles(["office.conf": conf])
        _ = unsafe chmod(files["office.conf"], 0o644)
        let ran = await Ran.tunnelctl("import", files["office.conf"], socket: fake.socket)
        #expect(ran.code == .done)
        #expect(ran.output.contains("everybody on this machine may read the file: chmod 600 "))
        await fake.stop()
    }

    @Test func `a folder's files are imported each by itself`() async throws {
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles([
            "b.conf": conf, "a.conf": "nonsense", "C.CONF": conf, "notes.txt": "x", "c.conf.bak": conf,
            ".hidden.conf": conf, "vpn.mobileconfig": "x", ".conf": conf,
        ])
        close(unsafe creat(files.path(Array("caf".utf8) + [0xe9] + Array(".conf".utf8)), 0o600))
        _ = unsafe mkdir(files["sub.conf"], 0o700)
        let ran = await Ran.tunnelctl("import", files.folder, socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(fake.update { $0.saves.map(\.configuration.name) } == ["C", "b"])
        #expect(ran.errors.contains("a.conf can't be imported"))
        let leftOut = ran.output.split(separator: "\n").filter { $0.contains(": not taken: ") }
        let prefix = "\(files.folder)/"
        #expect(
            leftOut.map { $0.dropFirst(prefix.count) } == [
                ".conf: not taken: it is hidden: import it by its own path",
                ".hidden.conf: not taken: it is hidden: import it by its own path",
                "c.conf.bak: not taken: its name doesn't end in .conf",
                "caf\\xE9.conf: not taken: its name isn't UTF-8: import it as `tunnelctl import - --name NAME < FILE`",
                "notes.txt: not taken: its name doesn't end in .conf",
                "sub.conf: not taken: it is a folder: import it by its own path",
                "vpn.mobileconfig: not taken: it is an Apple profile, which this version can't import yet",
            ]
        )
        #expect(ran.errors.contains("1 of 3 files were not imported."))
        let named = await Ran.tunnelctl("import", files.folder, "--name", "x", socket: fake.socket)
        #expect(named.code == .wrongUsage)
        await fake.stop()
    }

    @Test func `a name that is taken is told with --replace`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.errors["Save"] = ControlError(.nameTaken, "There is a configuration named office.") }
        let files = try TemporaryFiles(["office.conf": conf])
        let ran = await Ran.tunnelctl("import", files["office.conf"], socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.errors.contains("do: Add --replace to replace it"))
        await fake.stop()
    }

    @Test func `with --replace the stored configuration changes at its own generation`() async throws {
        let fake = try await FakeTunneld()
        var stored = Samples.configuration(Samples.home, "office")
        stored.owner.user = getuid()
        let configuration = stored
        fake.update {
            $0.sessions = [Samples.down(Samples.home, "office")]
            $0.configurations = [configuration]
        }
        let withoutKey = conf.replacing("PrivateKey = \(privateKey)\n", with: "")
        let files = try TemporaryFiles(["office.conf": withoutKey])
        let ran = await Ran.tunnelctl("import", files["office.conf"], "--replace", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(ran.output.contains("not in the file: the stored one is kept"))
        let save = try #require(fake.update { $0.saves }.first)
        #expect(save.configuration.identifier == Samples.home)
        #expect(save.generation == 7)
        #expect(save.configuration.startAtBoot, "what the file doesn't speak of stays")
        let saved = try WireGuardConfiguration(json: try #require(save.configuration.provider).configuration)
        #expect(saved.privateKeyReference == "item-private")
        #expect(save.secrets?.map(\.placeholder) == ["new:preshared-key-1"])
        await fake.stop()
    }

    @Test func `a table that no file names is warned of at its line`() async throws {
        let fake = try await FakeTunneld()
        let text = conf.replacing("FwMark = 0x10", with: "Table = no-such-table")
        let files = try TemporaryFiles([
            "office.conf": text, "main.conf": text.replacing("no-such-table", with: "main"),
        ])
        let ran = await Ran.tunnelctl("import", files["office.conf"], socket: fake.socket)
        #expect(ran.code == .done)
        #expect(
            ran.output.contains(
                "  line 7   Table         warning  no table of this name is in /etc/iproute2/rt_tables, "
            )
        )
        #expect(await Ran.tunnelctl("import", files["office.conf"], "--strict", socket: fake.socket).code == .failed)
        let main = await Ran.tunnelctl("import", files["main.conf"], "--strict", socket: fake.socket)
        #expect(!main.errors.contains("Table"))
        await fake.stop()
    }

    @Test func `a fault of the whole file names it once`() async throws {
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles(["empty.conf": ""])
        let ran = await Ran.tunnelctl("import", files["empty.conf"], socket: fake.socket)
        #expect(ran.errors.contains("  \(files["empty.conf"]): the file has no [Interface] section."))
        let strict = await Ran.tunnelctl("import", files["empty.conf"], "--strict", "--json", socket: fake.socket)
        let error = try JSONDecoder().decode(ControlError.self, from: Data(strict.errors.utf8))
        #expect(error.message == "\(files["empty.conf"]): the file has no [Interface] section.")
        #expect(error.field == nil)
        await fake.stop()
    }

    @Test func `a replacement that somebody else's came before is told in words for a person`() async throws {
        let fake = try await FakeTunneld()
        fake.update { $0.errors["Save"] = ControlError(.configurationStale, "Can't change office: the copy is stale.") }
        let files = try TemporaryFiles(["office.conf": conf])
        let ran = await Ran.tunnelctl("import", files["office.conf"], "--replace", socket: fake.socket)
        #expect(ran.errors.contains("office was changed by somebody else meanwhile; nothing was saved."))
        #expect(ran.errors.contains("do: See what it is now (`tunnelctl show office`), and run the command again."))
        await fake.stop()
    }

    @Test func `a name that can't be used is told with --name`() async throws {
        let fake = try await FakeTunneld()
        fake.update {
            $0.errors["Save"] = ControlError(.configurationInvalid, "No.", remedy: "Readable text.", field: "name")
        }
        let files = try TemporaryFiles(["office.conf": conf])
        let ran = await Ran.tunnelctl("import", files["office.conf"], socket: fake.socket)
        #expect(ran.errors.contains("do: Readable text. Give another one by --name NAME."))
        await fake.stop()
    }

    @Test(arguments: ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
    func `standard input is read under its other names, too`(path: String) async throws {
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles(["x": conf])
        let input = unsafe open(files["x"], O_RDONLY | O_CLOEXEC)
        #expect(await Ran.tunnelctl("import", path, socket: fake.socket, input: input).code == .wrongUsage)
        #expect(await Ran.tunnelctl("import", path, "--name", "n", socket: fake.socket, input: input).code == .done)
        close(input)
        await fake.stop()
    }

    @Test func `what is no UTF-8 in the arguments is named by its bytes`() async throws {
        let ran = await Ran.tunnelctl(words: [Array("import".utf8), Array("caf".utf8) + [0xe9]])
        #expect(ran.code == .wrongUsage)
        #expect(ran.errors.contains("\"caf\\xE9\" isn't UTF-8."))
        #expect(ran.errors.contains("tunnelctl import - --name NAME < FILE"))
    }

    @Test func `standard input is read where a name is given`() async throws {
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles(["x": conf])
        let input = unsafe open(files["x"], O_RDONLY | O_CLOEXEC)
        let nameless = await Ran.tunnelctl("import", "-", socket: fake.socket, input: input)
        #expect(nameless.code == .wrongUsage)
        let ran = await Ran.tunnelctl("import", "-", "--name", "piped", socket: fake.socket, input: input)
        #expect(ran.code == .done)
        #expect(fake.update { $0.saves.map(\.configuration.name) } == ["piped"])
        close(input)
        await fake.stop()
    }

    @Test func `what is no regular file, too large or an Apple profile is refused`() async throws {
        let fake = try await FakeTunneld()
        let files = try TemporaryFiles(["vpn.mobileconfig": "<?xml version=\"1.0\"?>"])
        _ = unsafe mkfifo(files["pipe.conf"], 0o600)
        close(unsafe creat(files["large.conf"], 0o600))
        _ = unsafe truncate(files["large.conf"], (16 << 20) + 1)
        for (name, text) in [
            ("pipe.conf", "is neither a regular file nor a folder."),
            ("large.conf", "is larger than the limit of 16 MiB."),
            ("vpn.mobileconfig", "is an Apple profile, which this version can't import yet."),
        ] {
            let ran = await Ran.tunnelctl("import", files[name], socket: fake.socket)
            #expect(ran.code == .failed)
            #expect(ran.errors.contains("\(files[name]) \(text)"), "\(ran.errors)")
            #expect(ran.errors.contains("  do: "))
        }
        for (path, text) in [
            (files["missing.conf"], "There is no file \(files["missing.conf"])."),
            ("/dev/zero", "/dev/zero is neither a regular file nor a folder."),
            (fake.socket, "\(fake.socket) is neither a regular file nor a folder."),
            (files["vpn.mobileconfig"] + "/x", "can't be read."),
        ] {
            let ran = await Ran.tunnelctl("import", path, socket: fake.socket)
            #expect(ran.code == .failed)
            #expect(ran.errors.contains(text) && ran.errors.contains("  do: "), "\(ran.errors)")
        }
        #expect(fake.update { $0.calls }.isEmpty)
        await fake.stop()
    }
}

/// Files of a folder that goes with this.
final class TemporaryFiles {
    let folder: String

    init(_ files: [String: String]) throws {
        var template = Array("/tmp/tunnelctl-test-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw CancellationError() }
        folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        for (name, text) in files {
            let file = unsafe open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try DescriptorSink(file).write(text)
            close(file)
        }
    }

    deinit {
        for name in (try? FileSystem.rawNames(inFolder: folder)) ?? [] { _ = unsafe remove(path(name)) }
        _ = unsafe rmdir(folder)
    }

    /// The path of a name that may not be UTF-8, for a call of the system.
    func path(_ name: [UInt8]) -> [CChar] {
        (Array("\(folder)/".utf8) + name + [0]).map { CChar(bitPattern: $0) }
    }

    subscript(_ name: String) -> String { "\(folder)/\(name)" }
}
