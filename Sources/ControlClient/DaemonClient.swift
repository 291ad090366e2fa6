package import ControlAPI
import EventLoop
import FoundationEssentials
import LinuxSystem
package import NetworkTypes
import VarlinkCore
import VarlinkSocket

/// The typed client of tunneld's interfaces.
///
/// Every call has a connection of its own, so it works again after tunneld was restarted, and no stream holds it up.
/// Whatever goes wrong is thrown as a `ControlError`: what tunneld answered; `notRunning` where nobody listens;
/// `versionMismatch` where tunneld doesn't know the call; `unavailable` where the connection ended, or tunneld doesn't
/// answer at all; `timedOut` where it answers, and isn't done.
package struct DaemonClient: Sendable {
    /// The path of the control socket.
    package let socket: String
    /// How long tunneld may work on a call that changes something: each of its steps is bounded.
    let patience: Interval
    /// How long reading may take, which tunneld does at once (a provider that hangs costs it 2 s), and how often a tunneld
    /// that works longer is asked whether it still answers.
    let readPatience: Interval

    package init(socket: String, patience: Interval = .seconds(60), readPatience: Interval = .seconds(5)) {
        self.socket = socket
        self.patience = patience
        self.readPatience = readPatience
    }

    /// Calls what changes something.
    func call<Reply: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable,
        descriptors: [SharedDescriptor] = []
    ) async throws(ControlError) -> (reply: Reply, descriptors: [SharedDescriptor]) {
        do {
            let call = VarlinkCall(method: method, parameters: try VarlinkJSON.encode(parameters))
            let received = try await performWatched(call, descriptors)
            return (try received.decode(), received.descriptors)
        } catch {
            throw await translate(error, of: method)
        }
    }

    /// Calls what only reads.
    func read<Reply: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable = NoParameters()
    ) async throws(ControlError) -> Reply {
        do {
            return try await readOnce(method, parameters)
        } catch {
            throw await translate(error, of: method)
        }
    }

    private func readOnce<Reply: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable
    ) async throws -> Reply {
        let connection = try await connect()
        do {
            return try await connection.call(method, parameters, timeout: readPatience)
        } catch {
            throw silence(error, of: connection, method)
        }
    }

    /// A time-out as what it means of tunneld; every other error as it is.
    func silence(_ error: any Error, of connection: VarlinkConnection, _ method: String) -> any Error {
        guard error as? VarlinkClientError == .timedOut else { return error }
        return DaemonProcess(identifier: connection.peer.process).silence(after: method, readPatience)
    }

    /// Waits for the answer as long as tunneld answers others.
    private func performWatched(_ call: VarlinkCall, _ descriptors: [SharedDescriptor]) async throws -> ReceivedReply {
        let connection = try await connect()
        let patience = patience
        return try await withThrowingTaskGroup(of: ReceivedReply?.self) { group in
            group.addTask {
                do {
                    return try await connection.perform(call, descriptors: descriptors, timeout: patience)
                } catch {
                    throw Self.overdue(error, call.method, patience)
                }
            }
            group.addTask {
                while true {
                    try await Pause.sleep(for: readPatience)
                    let _: Information = try await readOnce(Self.getInfo, NoParameters())
                }
            }
            defer { group.cancelAll() }
            while let received = try await group.next() {
                if let received { return received }
            }
            throw CancellationError()
        }
    }

    private static func overdue(_ error: any Error, _ method: String, _ patience: Interval) -> any Error {
        guard error as? VarlinkClientError == .timedOut else { return error }
        let name = method.split(separator: ".").last.map(String.init) ?? method
        return ControlError(
            .timedOut,
            "tunneld isn't done with \(name) after \(Int(patience.inSeconds)) s; it is still at work.",
            remedy: "`tunnelctl status` shows what became of it; tunneld's log says what it waits for."
        )
    }

    func connect() async throws -> VarlinkConnection { try await VarlinkConnection.connect(to: socket) }

    /// An error of the transport, the service or the decoder as a person may be told it.
    func translate(_ error: any Error, of method: String) async -> ControlError {
        let told = ErrorTranslation.controlError(error, method: method, socket: socket)
        // Which version runs is asked only once it matters.
        guard told.name == .versionMismatch, let info = try? await information() else { return told }
        return ErrorTranslation.versionMismatch(method: method, daemon: info.version)
    }
}

extension DaemonClient {
    /// What tunneld says of itself.
    package struct Information: Codable, Equatable, Sendable {
        package let vendor, product, version, url: String
        package let interfaces: [String]
    }

    package func information() async throws(ControlError) -> Information {
        do {
            return try await readOnce(Self.getInfo, NoParameters())
        } catch {
            throw ErrorTranslation.controlError(error, method: Self.getInfo, socket: socket)
        }
    }

    private static let getInfo = "org.varlink.service.GetInfo"
}
