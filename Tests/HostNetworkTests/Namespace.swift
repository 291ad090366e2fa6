import CShims
import Glibc
import LinuxSystem
import Netlink
import Testing

@testable import HostNetwork

/// An empty network namespace, for a test that needs the real kernel; gone with the thread that it lives on.
struct Namespace {
    let socket: RouteSocket
    var tables: KernelTables { KernelTables(socket: socket) }

    /// Runs the body on a new thread in a new namespace; the thread ends with it, so no other code gets to run there.
    static func run(_ body: @escaping @Sendable (Namespace) throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            startThread {
                continuation.resume(
                    with: Result {
                        try #require(shim_unshare_network() == 0, "namespace tests need root")
                        let namespace = Namespace(socket: try RouteSocket())
                        namespace.ip("link set lo up")
                        try body(namespace)
                    }
                )
            }
        }
    }

    /// What ip(8) prints in this namespace: an opinion independent of ours.
    @discardableResult
    func ip(_ arguments: String, fails: Bool = false) -> String { command("ip \(arguments)", fails: fails) }

    /// What a program prints that runs in this namespace.
    @discardableResult
    func command(_ line: String, fails: Bool = false) -> String {
        guard let pipe = unsafe popen("\(line) 2>&1", "r") else { return "popen failed" }
        var text = ""
        var buffer = [CChar](repeating: 0, count: 4096)
        while unsafe fgets(&buffer, Int32(buffer.count), pipe) != nil {
            text += String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
        let status = unsafe pclose(pipe)
        if (status != 0) != fails { Issue.record("\(line): \(text)") }
        return text
    }

    /// Everything that a tunnel may touch, as text.
    func snapshot() -> String {
        awaitOwnRoutes()
        return [
            "-br link", "-br addr", "route show table all", "-6 route show table all", "rule", "-6 rule",
        ].map { ip($0) }.joined(separator: "--\n")
    }

    /// Makes a TUN device as tunneld does.
    func makeTun(_ name: String) throws -> InterfaceIdentity {
        try TunCreation.create(name: name, owner: 0)
        let link = try #require(try tables.link(named: name))
        return InterfaceIdentity(index: link.index, name: name)
    }

    /// Waits for what the kernel finds out later about a link's carrier: all namespaces' links share that work.
    func awaitState(_ state: String, of link: String) {
        while !ip("-br link show \(link)").contains(" \(state) ") { sched_yield() }
    }

    /// Waits for the routes to the IPv6 addresses of links with a carrier, which the kernel makes a while after the addresses.
    func awaitOwnRoutes() {
        for _ in 0..<1_000 {
            let links = ip("-br link").split(separator: "\n").filter { $0.contains("LOWER_UP") }
            let names = Set(links.compactMap { $0.split(whereSeparator: " @".contains).first })
            let lines = ip("-6 -o addr show up").split(separator: "\n").map { $0.split(separator: " ") }
            let routes = ip("-6 route show table local type local")
            let isThere = lines.filter { names.contains($0[1]) }.allSatisfy { words in
                routes.contains("local \(words[3].prefix { $0 != "/" }) dev \(words[1]) ")
            }
            if isThere { return }
            sched_yield()
        }
    }

    /// One end of a pair with an address, as the machine's link to the world.
    func makeUnderlay() {
        ip("link add under0 type veth peer name under1")
        // No addresses of the kernel's own, which would appear in the middle of a test.
        ip("link set under0 addrgenmode none")
        ip("link set under1 addrgenmode none")
        ip("addr add 192.0.2.1/24 dev under0")
        ip("addr add 2001:db8::1/64 dev under0 nodad")
        ip("link set under0 up")
        ip("link set under1 up")
        awaitState("UP", of: "under0")
        ip("route add default via 192.0.2.254")
        ip("-6 route add default via 2001:db8::254")
    }
}

/// Runs the body on a thread of its own.
func startThread(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let context = unsafe Unmanaged.passRetained(Job(body)).toOpaque()
    let code = unsafe pthread_create(
        &thread,
        nil,
        { context in
            if let context = unsafe context { unsafe Unmanaged<Job>.fromOpaque(context).takeRetainedValue().body() }
            return nil
        },
        context
    )
    precondition(code == 0, "no thread for a test")
    pthread_detach(thread)
}

private final class Job: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
