import ControlAPI
import FoundationEssentials
import ProviderRuntime
import Testing

struct LaunchFolderTests {
    @Test func `the launch file is read and the sockets stand beside it`() throws {
        try withFolder(launch: #"{"identifier":"id","nonce":"n","controllerUser":5}"#) { path in
            let folder = try LaunchFolder(directory: path)
            #expect(folder.launch == LaunchDocument(identifier: "id", nonce: "n", controllerUser: 5))
            #expect(folder.controlPath == path + "/control")
            #expect(folder.descriptorsPath == path + "/descriptors")
        }
    }

    @Test func `a missing launch file is told by its path and error`() throws {
        try withFolder(launch: nil) { path in
            let error = #expect(throws: ControlError.self) { try LaunchFolder(directory: path) }
            #expect(error?.name == .providerFailed)
            #expect(error?.reason == "\(path)/launch: open: No such file or directory (ENOENT)")
        }
    }

    @Test(arguments: ["", "{}", "[]", "\u{0}", #"{"identifier":"id","nonce":"n","controllerUser":-1}"#])
    func `a launch file that isn't one is refused`(text: String) throws {
        try withFolder(launch: text) { path in
            let error = #expect(throws: ControlError.self) { try LaunchFolder(directory: path) }
            #expect(error?.reason == "\(path)/launch isn't a launch document.")
        }
    }

    private func withFolder(launch: String?, _ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.path + "/launch-\(UUID())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        if let launch { try launch.write(toFile: path + "/launch", atomically: false, encoding: .utf8) }
        try body(path)
    }
}
