import CommandLineTool
import ControlAPI
import NetworkTypes
import Testing
import WireGuardConfig

/// `new`, `show`, `export`, `rename` and `remove`.
@Suite struct ConfigurationCommandTests {
    private func fake() async throws -> FakeTunneld {
        let fake = try await FakeTunneld()
        fake.update {
            $0.sessions = [Samples.down()]
            $0.configurations = [Samples.configuration()]
            $0.secrets = [
                ("item-private", Array(repeating: 1, count: 32)), ("item-shared", Array(repeating: 2, count: 32)),
            ]
        }
        return fake
    }

    @Test func `a new configuration has a key pair of its own and what the options say`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl(
            "new",
            "site",
            "--address",
            "10.1.0.1/24",
            "--address",
            "fd01::1/64",
            "--listen-port",
            "51820",
            "--dns",
            "10.1.0.2",
            "--mtu",
            "1400",
            "--peer",
            Samples.peerKey,
            "--endpoint",
            "vpn.example.org:51820",
            "--allowed-ips",
            "10.1.0.0/24,fd01::/64",
            "--keepalive",
            "25",
            socket: fake.socket
        )
        #expect(ran.code == .done, "\(ran.errors)")
        let save = try #require(fake.update { $0.saves }.first)
        let made = try WireGuardConfiguration(json: try #require(save.configuration.provider).configuration)
        #expect(made.addresses.map(\.description) == ["10.1.0.1/24", "fd01::1/64"])
        #expect(made.listenPort == 51820 && made.mtu == 1400)
        #expect(made.peers.map(\.publicKey.description) == [Samples.peerKey])
        #expect(made.peers.first?.allowedIPs.count == 2)
        #expect(made.peers.first?.persistentKeepalive == 25)
        let secret = try #require(fake.update { $0.savedSecrets }[SecretPlaceholder.privateKey])
        #expect(secret.count == 32 && secret[0] & 7 == 0 && secret[31] & 0xC0 == 0x40)
        let lines = ran.output.split(separator: "\n")
        #expect(lines.first == "site is stored with a new key pair (\(Samples.newIdentifier)).")
        let shown = try #require(lines.dropFirst().first?.split(separator: " ").last)
        #expect(WireGuardPublicKey(String(shown)) != nil)
        await fake.stop()
    }

    @Test func `as JSON a new configuration tells its public key`() async throws {
        struct Document: Decodable { let identifier, name, publicKey: String }
        let fake = try await fake()
        let first = try await Ran.tunnelctl("new", "a", "--json", socket: fake.socket).json(Document.self)
        let second = try await Ran.tunnelctl("new", "b", "--json", socket: fake.socket).json(Document.self)
        #expect(first.name == "a" && first.publicKey != second.publicKey)
        await fake.stop()
    }

    @Test func `wrong options of a new configuration are all told by their names`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl(
            "new",
            "site",
            "--mtu",
            "huge",
            "--peer",
            Samples.peerKey,
            "--endpoint",
            "nowhere",
            socket: fake.socket
        )
        #expect(ran.code == .wrongUsage)
        #expect(ran.errors.contains("--mtu: ") && ran.errors.contains("--endpoint: "))
        #expect(fake.update { $0.saves }.isEmpty)
        let early = await Ran.tunnelctl("new", "site", "--endpoint", "a:1", socket: fake.socket)
        #expect(early.code == .wrongUsage)
        #expect(early.errors.contains("stands before any --peer"))
        let line = await Ran.tunnelctl("new", "site", "--dns", "10.0.0.1\nPostUp = x", socket: fake.socket)
        #expect(line.code == .wrongUsage)
        await fake.stop()
    }

    @Test func `show tells everything but the secrets`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("show", "home", socket: fake.socket)
        #expect(ran.output == (try fixture("show.txt")))
        let json = try await Ran.tunnelctl("show", "home", "--json", socket: fake.socket).json(Configuration.self)
        #expect(json == Samples.configuration())
        await fake.stop()
    }

    @Test func `what looks like a key in a hook is shown by no command but an export with secrets`() async throws {
        let key = "YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="
        let fake = try await fake()
        var configuration = Samples.configuration()
        var members = configuration.provider?.configuration.object ?? [:]
        members["hooks"] = [
            ["event": "PostUp", "command": .string("wg set %i private-key \(key) peer \(Samples.peerKey)")]
        ]
        configuration.provider?.configuration = .object(members)
        fake.update { [configuration] in $0.configurations = [configuration] }
        let hidden = "wg set %i private-key (a key, hidden) peer \(Samples.peerKey)"
        let json = try await Ran.tunnelctl("show", "home", "--json", socket: fake.socket).json(Configuration.self)
        #expect(json.provider?.configuration["hooks"]?.array?.first?["command"] == .string(hidden))
        for arguments in [["show", "home"], ["export", "home"], ["export", "home", "--json"]] {
            let ran = await Ran.run(arguments, socket: fake.socket)
            #expect(ran.code == .done)
            #expect(ran.output.contains("PostUp is left out, for it holds what looks like a key"), "\(arguments)")
            #expect(!(ran.output + ran.errors).contains(key), "\(arguments)")
        }
        let setting = "provider.configuration.hooks[0].command=echo \(key)"
        let set = await Ran.tunnelctl("set", "home", setting, socket: fake.socket)
        #expect(set.code == .done)
        #expect(set.output.contains("hooks[0].command: \"\(hidden)\" → \"echo (a key, hidden)\""))
        // Also where a hook comes with all that is around it.
        let hooks = #"provider.configuration={"peers":[],"hooks":[{"event":"PostUp","command":"x \#(key)"}]}"#
        let whole = await Ran.tunnelctl("set", "home", hooks, socket: fake.socket)
        #expect(whole.code == .done && whole.output.contains("a key, hidden"))
        #expect(!(whole.output + whole.errors).contains(key))
        fake.update { [configuration] in $0.configurations = [configuration] }
        let all = await Ran.tunnelctl("export", "home", "--with-secrets", socket: fake.socket)
        #expect(all.output.contains("PostUp = wg set %i private-key \(key)"))
        // Of another provider nobody knows what is a key.
        configuration.provider?.identifier = "org.example.later"
        fake.update { [configuration] in $0.configurations = [configuration] }
        let other = await Ran.tunnelctl("set", "home", "provider.configuration.secret=\(key)", socket: fake.socket)
        #expect(other.code == .done && other.output.contains("secret: unset → \"(a key, hidden)\""), "\(other.errors)")
        await fake.stop()
    }

    @Test func `the next steps can be pasted, whatever the name is`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("new", "a b/$c", socket: fake.socket)
        #expect(ran.code == .done, "\(ran.errors)")
        #expect(
            ran.output.split(separator: "\n").suffix(3) == [
                "  Fill in the other side: `tunnelctl export 'a b/$c' > 'a b-$c.conf'`, add its [Peer] there,",
                "  `tunnelctl import 'a b-$c.conf' --name 'a b/$c' --replace`; the private key is kept.",
                "  Start it: `tunnelctl up 'a b/$c'`.",
            ]
        )
        let dash = await Ran.tunnelctl("new", "--", "-x", socket: fake.socket)
        #expect(
            dash.output.split(separator: "\n").suffix(3) == [
                "  Fill in the other side: `tunnelctl export -- -x > ./-x.conf`, add its [Peer] there,",
                "  `tunnelctl import ./-x.conf --name=-x --replace`; the private key is kept.",
                "  Start it: `tunnelctl up -- -x`.",
            ]
        )
        await fake.stop()
    }

    @Test func `an export has no secrets unless they are asked for`() async throws {
        let fake = try await fake()
        let without = await Ran.tunnelctl("export", "home", socket: fake.socket)
        #expect(without.code == .done)
        #expect(without.output.contains("# PrivateKey is left out"))
        #expect(without.errors.contains("The keys are left out"))
        #expect(!fake.update { $0.calls }.contains("Reveal"))
        let with = await Ran.tunnelctl("export", "home", "--with-secrets", socket: fake.socket)
        #expect(with.output.contains("PrivateKey = AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n"))
        #expect(with.output.contains("PresharedKey = AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=\n"))
        #expect(with.errors.isEmpty)
        let screen = await Ran.tunnelctl("export", "home", "--with-secrets", socket: fake.socket, isTerminal: true)
        #expect(screen.errors.contains("Secrets stand on this screen"))
        await fake.stop()
    }

    @Test func `an export can be imported again`() async throws {
        let fake = try await fake()
        let text = await Ran.tunnelctl("export", "home", "--with-secrets", socket: fake.socket).output
        let files = try TemporaryFiles(["again.conf": text])
        #expect(await Ran.tunnelctl("import", files["again.conf"], "--strict", socket: fake.socket).code == .done)
        #expect(fake.update { $0.savedSecrets }["new:preshared-key-1"] == Array(repeating: 2, count: 32))
        await fake.stop()
    }

    @Test func `a secret that the keychain lost is told`() async throws {
        let fake = try await fake()
        fake.update { $0.secrets = Array($0.secrets.dropLast()) }
        let ran = await Ran.tunnelctl("export", "home", "--with-secrets", socket: fake.socket)
        #expect(ran.code == .failed)
        #expect(ran.output.isEmpty)
        #expect(ran.errors.contains("item-shared"))
        await fake.stop()
    }

    @Test func `secrets that may not be seen have exit code 5`() async throws {
        let fake = try await fake()
        fake.update { $0.errors["Reveal"] = ControlError(.permissionDenied, "Can't read the secrets of home.") }
        #expect(await Ran.tunnelctl("export", "home", "--with-secrets", socket: fake.socket).code == .noPermission)
        await fake.stop()
    }

    @Test func `a rename is a save at the loaded generation`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("rename", "home", "house", socket: fake.socket)
        #expect(ran.output == "home is called house now.\n")
        let save = try #require(fake.update { $0.saves }.first)
        #expect(save.configuration.name == "house" && save.generation == 7)
        #expect(save.configuration.provider == Samples.configuration().provider)
        await fake.stop()
    }

    @Test func `a removal is done without a question`() async throws {
        let fake = try await fake()
        let ran = await Ran.tunnelctl("remove", "home", socket: fake.socket)
        #expect(ran.code == .done)
        #expect(fake.update { $0.removals } == [Samples.home])
        #expect(fake.update { $0.removedGenerations } == [7])
        #expect(await Ran.tunnelctl("remove", "hom", socket: fake.socket).code == .noSuchConfiguration)
        await fake.stop()
    }

    @Test func `a running tunnel is removed only by force, and stopped first`() async throws {
        let fake = try await fake()
        fake.update { $0.sessions = [Samples.connected()] }
        let refused = await Ran.tunnelctl("remove", "home", socket: fake.socket)
        #expect(refused.code == .failed)
        #expect(refused.errors.contains("`tunnelctl down home` first, or add --force."))
        #expect(fake.update { $0.removals }.isEmpty)
        let forced = await Ran.tunnelctl("remove", "home", "--force", socket: fake.socket)
        #expect(forced.code == .done)
        #expect(fake.update { $0.calls }.suffix(3) == ["Monitor", "Stop", "Remove"])
        await fake.stop()
    }
}
