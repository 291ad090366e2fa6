package import ControlAPI
import FoundationEssentials
import LinuxSystem
package import NetworkTypes
import VarlinkCore
import VarlinkSocket

/// The typed client of tunneld's interfaces.
///
/// Every call has a connection of its own, so it works again after tunneld was restarted, and no stream holds it up.
/// Whatever goes wrong is thrown as a `ControlError`: what tunneld answered; `notRunning` where nobody listens;
/// `versionMismatch` where tunneld doesn't know the call; `unavailable` where the connection ended.
package struct DaemonClient: Sendable {
    /// The path of the control socket.
    package let socket: String
    /// How long an answer may take: tunneld answers at once, or after a bounded step such as a start's set-up.
    let patience: Interval

    package init(socket: String, patience: Interval = .seconds(60)) {
        self.socket = socket
        self.patience = patience
    }

    func call<Reply: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable,
        descriptors: [SharedDescriptor] = []
    ) async throws(ControlError) -> (reply: Reply, descriptors: [SharedDescriptor]) {
        do {
            let connection = try await connect()
            let call = VarlinkCall(method: method, parameters: try VarlinkJSON.encode(parameters))
            let received = try await connection.perform(call, descriptors: descriptors, timeout: patience)
            return (try received.decode(), received.descriptors)
        } catch {
            throw await translate(error, of: method)
        }
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
        let method = "org.varlink.service.GetInfo"
        do {
            return try await connect().call(method, timeout: patience)
        } catch {
            throw ErrorTranslation.controlError(error, method: method, socket: socket)
        }
    }
}
