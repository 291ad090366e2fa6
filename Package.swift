// swift-tools-version: 6.2
import PackageDescription

/// Settings of every Swift target: language mode 6, memory safety spelled out, warnings are errors.
let house: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableExperimentalFeature("Lifetimes"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Modules that decide and do no I/O.
///
/// Each may import `NetworkTypes`.
let pure: [Target] = [
    swift("NetworkTypes", []),
    swift("VarlinkCore", []),
    swift("ControlAPI", ["NetworkTypes"], resources: [.embedInCode("Interfaces")]),
    swift("WireGuardCore", ["NetworkTypes"]),
    swift("WireGuardConfig", ["ControlAPI", "NetworkTypes"]),
]

/// What every host module, part and program may import beside its own row.
let base: [Target.Dependency] = ["NetworkTypes", "CShims", "LinuxSystem", "Journal", "EventLoop"]

/// Modules that act on the machine and hold no policy.
let host: [Target] = [
    swift("LinuxSystem", ["CShims", "NetworkTypes"]),
    swift("Journal", ["CShims", "LinuxSystem", "NetworkTypes"]),
    swift("EventLoop", ["CShims", "LinuxSystem"]),
    swift("Netlink", ["CMnl", "CShims", "LinuxSystem", "NetworkTypes"]),
    swift("TunnelCrypto", ["CCrypto", "CSodium", "CShims", "LinuxSystem", "NetworkTypes"]),
    swift("VarlinkSocket", base + ["VarlinkCore"]),
    swift("SystemBus", base + ["CSystemd"]),
    swift("PacketIO", base),
    swift("HostNetwork", base + ["Netlink", "SystemBus", "CAres", "CNftables"]),
]

/// The pieces that programs are put together from.
let parts: [Target] = [
    swift("Keychain", base + ["TunnelCrypto", "ControlAPI"]),
    swift(
        "ControlDaemon",
        base + ["Keychain", "ControlAPI", "VarlinkCore", "VarlinkSocket", "HostNetwork", "SystemBus"]
    ),
    swift("ControlClient", base + ["ControlAPI", "VarlinkCore", "VarlinkSocket"]),
    swift("CommandLineTool", base + ["ControlClient", "ControlAPI", "WireGuardConfig", "HostNetwork", "TunnelCrypto"]),
    swift("ProviderRuntime", base + ["ControlAPI", "VarlinkCore", "VarlinkSocket", "PacketIO"]),
    swift(
        "WireGuardProvider",
        base + [
            "WireGuardCore", "WireGuardConfig", "TunnelCrypto", "ControlAPI", "ProviderRuntime", "PacketIO",
        ]
    ),
]

let programs: [Target] = [
    program("tunneld", base + ["ControlDaemon"]),
    program("tunnelctl", base + ["CommandLineTool"]),
    program("tunnel-provider-wireguard", base + ["WireGuardProvider", "ProviderRuntime"]),
    program("tunnel-block", base + ["HostNetwork"]),
]

/// C: one shim target for what Swift can't import; the rest are module maps only.
let c: [Target] = [
    .target(name: "CShims", cSettings: [.define("_GNU_SOURCE"), .unsafeFlags(["-Werror"])]),
    .systemLibrary(name: "CMnl", pkgConfig: "libmnl", providers: [.apt(["libmnl-dev"])]),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CAres", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),
    .systemLibrary(name: "CNftables", pkgConfig: "libnftables", providers: [.apt(["libnftables-dev"])]),
]

let tests: [Target] = [
    .target(name: "CTestSupport", path: "Tests/CTestSupport", cSettings: [.define("_GNU_SOURCE")]),
    .target(name: "TestSupport", dependencies: ["CTestSupport"], path: "Tests/TestSupport", swiftSettings: house),
    .target(
        name: "PacketTestSupport",
        dependencies: ["LinuxSystem", "NetworkTypes", "PacketIO", "WireGuardCore"],
        path: "Tests/PacketTestSupport",
        swiftSettings: house
    ),
    .target(name: "CAllocCounter", path: "Tests/CAllocCounter"),
    .executableTarget(
        name: "allocation-check",
        dependencies: [
            "CAllocCounter", "LinuxSystem", "NetworkTypes", "PacketIO", "PacketTestSupport", "WireGuardCore",
            "WireGuardProvider",
        ],
        path: "Tests/AllocationCheck",
        swiftSettings: house
    ),
    test("TestSupport", []),
    test("NetworkTypes", []),
    test("WireGuardCore", ["NetworkTypes", "TunnelCrypto"], fixtures: true),
    test("TunnelCrypto", ["LinuxSystem", "NetworkTypes"], fixtures: true),
    test("EventLoop", ["LinuxSystem", "NetworkTypes"]),
    test("LinuxSystem", ["NetworkTypes"]),
    test("ControlAPI", []),
    test("WireGuardConfig", ["ControlAPI", "NetworkTypes"], fixtures: true),
    test("Keychain", ["ControlAPI", "LinuxSystem", "TunnelCrypto"]),
    test(
        "ControlClient",
        ["ControlAPI", "LinuxSystem", "NetworkTypes", "VarlinkCore", "VarlinkSocket"]
    ),
    test(
        "CommandLineTool",
        [
            "ControlAPI", "ControlClient", "HostNetwork", "LinuxSystem", "NetworkTypes", "VarlinkCore", "VarlinkSocket",
            "WireGuardConfig",
        ],
        fixtures: true
    ),
    test(
        "ControlDaemon",
        [
            "ControlAPI", "HostNetwork", "Journal", "Keychain", "LinuxSystem", "NetworkTypes", "VarlinkCore",
            "VarlinkSocket",
        ],
        fixtures: true
    ),
    test("SystemBus", ["EventLoop", "LinuxSystem", "NetworkTypes"]),
    test("ProviderRuntime", ["ControlAPI", "LinuxSystem", "NetworkTypes", "VarlinkCore", "VarlinkSocket"]),
    test("Netlink", ["CShims"]),
    test(
        "PacketIO",
        ["CShims", "HostNetwork", "LinuxSystem", "NetworkTypes", "CTestSupport", "PacketTestSupport"]
    ),
    test("HostNetwork", ["Netlink", "NetworkTypes", "LinuxSystem", "SystemBus", "CShims"]),
    test("VarlinkCore", []),
    test("Journal", ["LinuxSystem", "NetworkTypes"]),
    test("VarlinkSocket", ["VarlinkCore", "LinuxSystem", "NetworkTypes"]),
    test(
        "WireGuardProvider",
        [
            "ControlAPI", "LinuxSystem", "NetworkTypes", "TunnelCrypto", "WireGuardConfig", "WireGuardCore", "PacketIO",
            "PacketTestSupport", "CShims", "HostNetwork",
            "ProviderRuntime", "VarlinkCore", "VarlinkSocket",
        ]
    ),
]

/// Fuzz targets, which only a build for libFuzzer can link (`Tests/Fuzz/README.md`).
let fuzzers: [Target] =
    Context.environment["TUNNELD_FUZZ"] == "1"
    ? [
        fuzzer("FuzzConfigurationFile", ["WireGuardConfig"]),
        fuzzer("FuzzConfigurationJSON", ["WireGuardConfig", "ControlAPI"]),
        fuzzer("FuzzConfigurationDocument", ["ControlDaemon", "ControlAPI"]),
        fuzzer("FuzzDatagrams", ["WireGuardCore", "TunnelCrypto", "NetworkTypes"]),
        fuzzer("FuzzReplayWindow", ["WireGuardCore"]),
        fuzzer("FuzzPackets", ["PacketIO", "PacketTestSupport", "LinuxSystem"]),
        fuzzer("FuzzVarlink", ["VarlinkCore"]),
        fuzzer("FuzzKeychainItem", ["Keychain", "ControlAPI"]),
        fuzzer("FuzzDeviceOperation", ["WireGuardProvider", "WireGuardCore", "NetworkTypes"]),
    ] : []

let package = Package(
    name: "tunneld",
    products: [
        .executable(name: "tunneld", targets: ["tunneld"]),
        .executable(name: "tunnelctl", targets: ["tunnelctl"]),
        .executable(name: "tunnel-provider-wireguard", targets: ["tunnel-provider-wireguard"]),
        .executable(name: "tunnel-block", targets: ["tunnel-block"]),
    ],
    targets: c + pure + host + parts + programs + tests + fuzzers
)

func swift(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource]? = nil) -> Target {
    .target(name: name, dependencies: dependencies, resources: resources, swiftSettings: house)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, swiftSettings: house)
}

/// The suite of one module; it sees the module and what the module's own face shows.
///
/// Fixtures are read where they lie in the source tree, so none is copied or embedded.
func test(_ module: String, _ others: [Target.Dependency], fixtures: Bool = false) -> Target {
    .testTarget(
        name: module + "Tests",
        dependencies: Set([module, "TestSupport"]).sorted().map { .init(stringLiteral: $0) } + others,
        exclude: fixtures ? ["Fixtures"] : [],
        swiftSettings: house
    )
}

/// A program that libFuzzer drives: `Tests/Fuzz/<name>`, with its corpus beside it.
func fuzzer(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(
        name: name,
        dependencies: dependencies,
        path: "Tests/Fuzz/\(name)",
        exclude: ["Corpus"],
        swiftSettings: house,
        // CShims wants it, and a fuzzer that doesn't import Dispatch wouldn't link it.
        linkerSettings: [.linkedLibrary("dispatch")]
    )
}
