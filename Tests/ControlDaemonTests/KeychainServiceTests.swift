import ControlAPI
import Glibc
import HostNetwork
import Keychain
import LinuxSystem
import Testing
import VarlinkCore
import VarlinkSocket

@testable import ControlDaemon

/// `org.tunneld.Keychain`, called over a socket; who may do what is tried with real users by the integration tests.
@Suite(.timeLimit(.minutes(2))) struct KeychainServiceTests {
    private let bench: Bench
    private let service: VarlinkService

    init() throws {
        bench = try Bench()
        service = try DaemonService.make(
            store: bench.store,
            keychain: bench.keychain,
            catalogue: bench.catalogue,
            tunnels: Tunnels(bench.services()),
            hub: bench.hub,
            permission: Permission(allowsAllUsers: false),
            incidents: Incidents(),
            network: NetworkObserver(bus: nil) { NetworkSnapshot() },
            log: bench.services().log
        )
    }

    @Test func `an item is added, found, replaced, renamed, listed and removed`() async throws {
        let client = try await connect()
        let added = try await add(client, "vpn", "wolf")
        let found: KeychainCalls.FindReply = try await client.call(
            "org.tunneld.Keychain.Find",
            KeychainCalls.FindParameters(name: "vpn")
        )
        #expect(found.reference == added.reference && found.item.problem == nil)
        #expect(try secret(added.reference) == "wolf")
        let _: KeychainCalls.ReplaceReply = try await perform(
            client,
            "Replace",
            KeychainCalls.ReplaceParameters(reference: added.reference, name: "office"),
            ["secret": "sheep"]
        )
        #expect(try secret(added.reference) == "sheep")
        let list: KeychainCalls.ListReply = try await client.call("org.tunneld.Keychain.List", NoParameters())
        #expect(list.items.map(\.name) == ["office"])
        let _: NoParameters = try await client.call(
            "org.tunneld.Keychain.Remove",
            KeychainCalls.RemoveParameters(reference: added.reference, force: false)
        )
        #expect(try bench.keychain.references().isEmpty)
    }

    @Test func `an item that a configuration refers to goes by force alone`() async throws {
        let client = try await connect()
        let configuration = try await bench.save()
        let reference = try #require(StoreContents.references(in: configuration).first)
        let error = await failure {
            let _: NoParameters = try await client.call(
                "org.tunneld.Keychain.Remove",
                KeychainCalls.RemoveParameters(reference: reference.description, force: false)
            )
        }
        #expect(error?.name == .inUse && error?.reason == "Configurations refer to it: home.")
        let _: NoParameters = try await client.call(
            "org.tunneld.Keychain.Remove",
            KeychainCalls.RemoveParameters(reference: reference.description, force: true)
        )
        #expect(await bench.store.configuration(configuration.identifier) == configuration)
    }

    @Test func `an item that was added stays when its configuration goes, and one saved with it goes`() async throws {
        let client = try await connect()
        let added = try await add(client, "key", "wolf")
        var configuration = try await bench.save()
        let saved = StoreContents.references(in: configuration)
        configuration.passwordReference = added.reference
        configuration = try await bench.replace(configuration)
        try await bench.store.remove(configuration.identifier, generation: nil)
        #expect(try bench.keychain.references().map(\.description) == [added.reference])
        #expect(!saved.isEmpty)
    }

    @Test func `names are one of a kind to an owner, and secrets come by memfd alone`() async throws {
        let client = try await connect()
        _ = try await add(client, "vpn", "wolf")
        #expect(await failure { _ = try await add(client, "vpn", "x") }?.name == .nameTaken)
        #expect(await failure { _ = try await add(client, " ", "x") }?.field == "name")
        #expect(await failure { _ = try await add(client, "empty", "") }?.field == "secret")
        let error = await failure {
            let _: KeychainCalls.AddReply = try await client.call(
                "org.tunneld.Keychain.Add",
                KeychainCalls.AddParameters(name: "a", kind: .password, scope: nil)
            )
        }
        #expect(error?.field == "secret" && error?.reason == "No memfd with a bundle of secrets came with the call.")
    }

    @Test func `what is no reference is refused and not echoed`() async throws {
        let client = try await connect()
        let marker = "MARKER-secret"
        let error = await failure {
            let _: NoParameters = try await client.call(
                "org.tunneld.Keychain.Remove",
                KeychainCalls.RemoveParameters(reference: marker, force: true)
            )
        }
        #expect(error?.name == .notFound && !"\(String(describing: error))".contains(marker))
    }

    // MARK: Helpers

    private func connect() async throws -> VarlinkConnection {
        let (here, there) = try UnixSocket.pair(.stream)
        let server = VarlinkServer(service)
        await server.serve(there)
        let connection = try await VarlinkConnection.adopt(here)
        await connection.onClose { withExtendedLifetime(server) {} }
        return connection
    }

    private func add(
        _ client: VarlinkConnection,
        _ name: String,
        _ secret: String
    ) async throws -> KeychainCalls.AddReply {
        try await perform(
            client,
            "Add",
            KeychainCalls.AddParameters(name: name, kind: .password, scope: nil),
            ["secret": secret]
        )
    }

    private func perform<Reply: Decodable & Sendable>(
        _ client: VarlinkConnection,
        _ method: String,
        _ parameters: some Encodable & Sendable,
        _ secrets: [String: String]
    ) async throws -> Reply {
        let call = VarlinkCall(
            method: "org.tunneld.Keychain.\(method)",
            parameters: try VarlinkJSON.encode(parameters)
        )
        return try await client.perform(call, descriptors: [Bench.bundle(secrets)]).decode()
    }

    private func secret(_ text: String) throws -> String {
        let reference = try #require(ItemReference(text))
        let bundle = try bench.keychain.sealedBundle(of: [reference], ownedBy: 0)
        var found = ""
        _ = try unsafe MemoryFile.withContents(of: bundle.raw, limit: 1 << 20) { bytes in
            unsafe SecretBundle.read(bytes) { found = unsafe $0 == text ? String(decoding: $1, as: UTF8.self) : found }
        }
        return found
    }

    private func failure(_ body: () async throws -> Void) async -> ControlError? {
        do {
            try await body()
            return nil
        } catch let error as VarlinkError {
            return try? error.decode(ControlError.self)
        } catch {
            return nil
        }
    }
}
