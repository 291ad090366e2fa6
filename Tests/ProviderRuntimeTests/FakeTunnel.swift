import ControlAPI
import LinuxSystem
import ProviderRuntime
import Synchronization

/// A tunnel that writes down what it is told.
actor FakeTunnel: TunnelProvider {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe link.executor.asUnownedSerialExecutor() }
    static let descriptor = ProviderDescriptor(
        identifier: "org.tunneld.fake",
        executable: "",
        name: "Fake",
        protocol: 1,
        principalClass: nil,
        secretKeys: [],
        memoryLimit: nil
    )
    static func validate(_ configuration: JSONValue) -> ProviderDescriptor.Validation {
        .init(errors: [], warnings: [])
    }

    nonisolated let link: ProviderLink
    private(set) var calls: [String] = []
    private(set) var taken: [String: SharedDescriptor] = [:]
    private(set) var answers: [String] = []
    private var isHanging = false
    private var turns: [@Sendable () -> Void] = []
    private var session: String?
    private var held: MessageAnswer?
    private var phase = ProviderState.Phase.waiting

    init(link: ProviderLink) { self.link = link }

    func start(
        _ parameters: ProviderCalls.StartParameters,
        descriptors: [String: SharedDescriptor]
    ) throws(ControlError) -> NetworkSettingsDocument {
        calls.append("start \(parameters.name)")
        if parameters.name == "bad" { throw ControlError(.configurationInvalid, "It is bad.", field: "name") }
        session = parameters.session
        phase = .starting
        taken = descriptors
        return NetworkSettingsDocument(addresses: [], routes: [], table: "auto", mtu: nil, endpoints: [], dns: nil)
    }

    func update(
        _ configuration: JSONValue,
        descriptors: [String: SharedDescriptor]
    ) throws(ControlError) -> NetworkSettingsDocument {
        calls.append("update")
        return NetworkSettingsDocument(addresses: [], routes: [], table: "off", mtu: nil, endpoints: [], dns: nil)
    }

    func settingsApplied(mtu: Int) throws(ControlError) { calls.append("applied \(mtu)") }
    func pathChanged(_ change: ProviderCalls.PathChangedParameters) { calls.append("path \(change.network ?? "-")") }
    func sleep(_ done: @escaping @Sendable () -> Void) {
        calls.append("sleep")
        if isHanging { turns.append(done) } else { done() }
    }
    func wake() { calls.append("wake") }
    func roundTrip(_ done: @escaping @Sendable () -> Void) {
        if isHanging { turns.append(done) } else { done() }
    }

    /// What carries the packets hangs, until `goOn`.
    func hang() { isHanging = true }
    func goOn() {
        isHanging = false
        for done in turns { done() }
        turns = []
    }
    func descriptors() -> [(label: String, descriptor: SharedDescriptor)] {
        taken.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    func state() -> ProviderState {
        var state = ProviderState(phase: phase, status: .connecting, stage: .providerStarted)
        state.session = session
        return state
    }

    func handle(_ message: [UInt8], answer: @escaping MessageAnswer) {
        let text = String(decoding: message, as: UTF8.self)
        calls.append("message \(text)")
        switch text {
        case "hold": held = answer
        case "release":
            held?(.success(Array("held".utf8)))
            answer(.success(nil))
        case "none": answer(.failure(.messagesUnsupported))
        case "forget": break
        default: answer(.success(message.reversed()))
        }
    }

    func stop(reason: String) {
        calls.append("stop \(reason)")
        phase = .stopping
        link.send(.ended)
    }

    func ask(_ name: String) {
        link.send(
            .request(.resolve, name: name, port: nil) { @Sendable [weak self] answer in
                self?.assumeIsolated { $0.answered(name, answer) }
            }
        )
    }

    func change(times: Int) {
        phase = .ready
        for _ in 0..<times { link.send(.stateChanged) }
    }

    private func answered(_ name: String, _ answer: ProviderLink.Answer) {
        switch answer {
        case .success(let supplied): answers.append("\(name) \(supplied.addresses.joined(separator: ","))")
        case .failure(let error): answers.append("\(name) failed: \(error.message)")
        }
    }
}
