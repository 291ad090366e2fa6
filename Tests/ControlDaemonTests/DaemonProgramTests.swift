import ControlAPI
import Glibc
import Journal
import LinuxSystem
import NetworkTypes
import Testing

@testable import ControlDaemon

@Suite struct DaemonProgramTests {
    @Test func `directories come from systemd's variables, the first of several`() {
        let standard = DaemonDirectories(environment: [:], current: "/here")
        #expect(standard.state == "/var/lib/tunneld" && standard.runtime == "/run/tunneld")
        #expect(standard.settings == "/etc/tunneld/tunneld.conf")
        let given = DaemonDirectories(
            environment: ["STATE_DIRECTORY": "/a:/b", "RUNTIME_DIRECTORY": "/c/", "CONFIGURATION_DIRECTORY": "/d"],
            current: "/here"
        )
        #expect(given == DaemonDirectories(state: "/a", runtime: "/c", configuration: "/d"))
        #expect(given.controlSocket == "/c/control")
    }

    @Test func `a relative directory begins where tunneld was started, and is never taken for the system's`() {
        let relative = DaemonDirectories(environment: ["STATE_DIRECTORY": "state/"], current: "/here")
        #expect(relative.state == "/here/state")
    }

    @Test func `folders are made with those above them, and one that is there keeps its mode`() throws {
        let temporary = TemporaryFolder()
        try makeFolders(to: temporary.path + "/a/b/c", mode: 0o700)
        #expect(mode(temporary.path + "/a/b") == 0o755 && mode(temporary.path + "/a/b/c") == 0o700)
        try makeFolders(to: temporary.path + "/a/b", mode: 0o700)
        #expect(mode(temporary.path + "/a/b") == 0o755)
        try AtomicFile.write([], to: temporary.path + "/file", mode: 0o600)
        #expect(throws: SystemError.self) { try makeFolders(to: temporary.path + "/file", mode: 0o700) }
    }

    @Test func `arguments are read, and what makes no sense is told`() {
        var options = DaemonOptions()
        #expect(DaemonOptions.parse([]) == .run(options))
        options.launcher = .spawn
        options.logLevel = .debug
        #expect(DaemonOptions.parse(["--launcher", "spawn", "--log-level=debug"]) == .run(options))
        #expect(DaemonOptions.parse(["--help"]) == .help && DaemonOptions.parse(["--version"]) == .version)
        #expect(DaemonOptions.parse(["--launcher", "x"]) == .wrong("--launcher can't be `x`."))
        #expect(DaemonOptions.parse(["--log-level"]) == .wrong("--log-level needs a value."))
        #expect(DaemonOptions.parse(["start"]) == .wrong("There is no option `start`."))
    }

    @Test func `settings are read with comments and blanks`() throws {
        let settings = try DaemonSettings(parsing: "# ours\r\n users = allow # all\n\nstart-timeout=5\n")
        #expect(settings.allowsAllUsers && settings.startTimeout == .seconds(5))
        let standard = try DaemonSettings(parsing: "")
        #expect(!standard.allowsAllUsers && standard.startTimeout == .seconds(60))
    }

    @Test(
        arguments: [
            ("users", 1, "expected `key = value`."), ("\nusers = some", 2, "`users` is `allow`"),
            ("start-timeout = 0", 1, "`start-timeout` is a number"),
            ("colour = red", 1, "there is no setting `colour`"),
        ]
    )
    func `a wrong setting is told with its line`(text: String, line: Int, message: String) {
        #expect {
            try DaemonSettings(parsing: text)
        } throws: { error in
            let fault = error as? DaemonSettings.Fault
            return fault?.line == line && fault?.message.hasPrefix(message) == true
        }
    }

    @Test func `each tunneld of a runtime directory has a higher number`() throws {
        let temporary = TemporaryFolder()
        let path = temporary.path + "/epoch"
        #expect(try [Epoch.next(path: path), Epoch.next(path: path), Epoch.next(path: path)] == [1, 2, 3])
    }

    @Test func `a timestamp is kept if it is newer, whatever is written there`() throws {
        let temporary = TemporaryFolder()
        let store = TimestampStore(folder: temporary.path)
        let (old, new) = ("400000006955b9000a0b0c0d", "400000006955b9000a0b0c0e")
        #expect(store.timestamp(of: "a") == nil)
        #expect(try store.keep(new, of: "a", known: nil) == new)
        #expect(try store.keep(old, of: "a", known: new) == new)
        #expect(try store.keep("rubbish", of: "a", known: new) == new)
        #expect(store.timestamp(of: "a") == new)
        store.remove("a")
        #expect(store.timestamp(of: "a") == nil)
    }

    @Test func `a routing table is found by its name`() {
        let text = "# reserved\n255\tlocal\n0x10 hex\n7 seven # ours\nx bad\n"
        #expect(RoutingTableNames.find("local", in: text) == 255)
        #expect(RoutingTableNames.find("hex", in: text) == 16)
        #expect(RoutingTableNames.find("seven", in: text) == 7)
        #expect(RoutingTableNames.find("bad", in: text) == nil)
        #expect(RoutingTableNames.find("none", in: text) == nil)
        // The kernel's own are known without a file.
        #expect(RoutingTableNames.number(of: "main", files: [], folders: []) == 254)
        #expect(RoutingTableNames.number(of: "none", files: [], folders: []) == nil)
    }

    @Test func `the socket of wg is root's, and goes with the folder that was made for it`() throws {
        let temporary = TemporaryFolder()
        let folder = temporary.path + "/wireguard"
        let (descriptor, record) = try WGSocket.make(interface: "home-1", in: folder)
        #expect(try FileSystem.names(inFolder: folder) == ["home-1.sock"])
        #expect(throws: UnixListenerError.inUse(path: folder + "/home-1.sock")) {
            _ = try WGSocket.make(interface: "home-1", in: folder)
        }
        record.remove()
        #expect(throws: SystemError.self) { try FileSystem.names(inFolder: folder) }
        withExtendedLifetime(descriptor) {}
    }

    @Test func `another's socket of the same name is left alone`() throws {
        let temporary = TemporaryFolder()
        let record = try abandonedSocket(in: temporary.path)
        let (other, _) = try WGSocket.make(interface: "home-1", in: temporary.path)
        record.remove()
        #expect(try FileSystem.names(inFolder: temporary.path) == ["home-1.sock"])
        withExtendedLifetime(other) {}
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    /// Nobody listens on it any more.
    private func abandonedSocket(in folder: String) throws -> FileRecord {
        try WGSocket.make(interface: "home-1", in: folder).1
    }
}
