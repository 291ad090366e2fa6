import ControlClient
import Testing

@Suite struct ControlSocketPathTests {
    @Test(
        arguments: [
            ("/a", ["TUNNELD_SOCKET": "/b", "RUNTIME_DIRECTORY": "/c"], "/a"),
            (nil, ["TUNNELD_SOCKET": "/b", "RUNTIME_DIRECTORY": "/c"], "/b"),
            (nil, ["RUNTIME_DIRECTORY": "/c"], "/c/control"),
            (nil, ["RUNTIME_DIRECTORY": "/c:/d"], "/c/control"),
            (nil, ["TUNNELD_SOCKET": "", "RUNTIME_DIRECTORY": ""], "/run/tunneld/control"),
            (nil, [:], "/run/tunneld/control"),
        ] as [(String?, [String: String], String)]
    )
    func `the option counts first, then the variables, then the default`(
        _ option: String?,
        _ environment: [String: String],
        _ path: String
    ) {
        #expect(ControlSocketPath.find(explicit: option) { environment[$0] } == path)
    }
}
