import ControlAPI
import LinuxSystem
import VarlinkCore
import VarlinkSocket

/// The methods of `org.tunneld.Provider`, each answered on the control queue.
extension ProviderHost {
    /// The first reply has the present state; the requests that wait and the descriptors follow.
    func attach(_ request: VarlinkRequest) throws {
        let process = request.caller.process
        try seat.claim(request.parameters(), from: process)
        controlDoor.keepOnly(process)
        descriptorDoor.keepOnly(process)
        vault.keepOnly(from: process)
        reports?.fail(
            VarlinkError(
                ControlError(.unavailable, "The provider obeys another tunneld now.", reason: "It attached later.")
            )
        )
        reports = request.responder
        report(state: currentState(), request: nil)
        for waiting in requests.unanswered { report(state: nil, request: waiting) }
        receiveDescriptors()
        handDescriptors(to: process)
    }

    func start(_ request: VarlinkRequest) throws {
        try obey(request)
        let parameters: ProviderCalls.StartParameters = try request.parameters()
        let descriptors = try claim(parameters.descriptors, request)
        let settings = try isolated { try $0.start(parameters, descriptors: descriptors) }
        isStarted = true
        noteCall()
        handDescriptors(to: request.caller.process)
        try request.responder.reply(ProviderCalls.SettingsReply(settings: settings))
    }

    func update(_ request: VarlinkRequest) throws {
        try obey(request)
        let parameters: ProviderCalls.UpdateParameters = try request.parameters()
        let descriptors = try claim(parameters.descriptors, request)
        let settings = try isolated { try $0.update(parameters.configuration, descriptors: descriptors) }
        try request.responder.reply(ProviderCalls.SettingsReply(settings: settings))
    }

    func settingsApplied(_ request: VarlinkRequest) throws {
        try obey(request)
        let parameters: ProviderCalls.SettingsAppliedParameters = try request.parameters()
        try isolated { try $0.settingsApplied(mtu: parameters.mtu) }
        try request.responder.reply(NoParameters())
    }

    func supply(_ request: VarlinkRequest) throws {
        try obey(request)
        let parameters: ProviderCalls.SupplyParameters = try request.parameters()
        let descriptors = try claim(parameters.descriptors ?? [], request)
        let completion = try requests.answer(parameters.request)
        let result: Result<Supplied, ControlError> =
            if let error = parameters.error {
                .failure(error)
            } else {
                .success(
                    Supplied(
                        addresses: parameters.addresses ?? [],
                        listenPort: parameters.listenPort,
                        descriptors: descriptors
                    )
                )
            }
        completion(result)
        try request.responder.reply(NoParameters())
    }

    func pathChanged(_ request: VarlinkRequest) throws {
        try obey(request)
        let change: ProviderCalls.PathChangedParameters = try request.parameters()
        tunnel.assumeIsolated { $0.pathChanged(change) }
        try request.responder.reply(NoParameters())
    }

    /// Answered when the tunnel is ready for it, which holds up no other call.
    func sleep(_ request: VarlinkRequest) throws {
        try obey(request)
        let responder = request.responder
        // A reply that can't be sent is for a controller that is gone.
        tunnel.assumeIsolated { $0.sleep { @Sendable in try? responder.reply(NoParameters()) } }
    }

    func wake(_ request: VarlinkRequest) throws {
        try obey(request)
        tunnel.assumeIsolated { $0.wake() }
        try request.responder.reply(NoParameters())
    }

    func status(_ request: VarlinkRequest) throws {
        try obey(request)
        try request.responder.reply(ProviderCalls.StatusReply(state: currentState()))
    }

    func stop(_ request: VarlinkRequest) throws {
        try obey(request)
        let parameters: ProviderCalls.StopParameters = try request.parameters()
        tunnel.assumeIsolated { $0.stop(reason: parameters.reason) }
        try request.responder.reply(NoParameters())
    }

    /// Answered by the packet loop too, so that it tells whether the tunnel works, and not this queue alone.
    func ping(_ request: VarlinkRequest) throws {
        try obey(request)
        let responder = request.responder
        // A reply that can't be sent is for a controller that is gone.
        tunnel.assumeIsolated { $0.roundTrip { @Sendable in try? responder.reply(NoParameters()) } }
    }

    /// The answer may come later, from whichever thread; calls behind it aren't held up, for it has its own connection.
    func handleMessage(_ request: VarlinkRequest) throws {
        try obey(request)
        let parameters: MessageCalls.HandleParameters = try request.parameters()
        let responder = request.responder
        let message = parameters.message.map { Array($0.bytes) } ?? []
        tunnel.assumeIsolated { tunnel in
            tunnel.handle(message) { @Sendable answer in
                switch answer {
                case .success(let bytes):
                    try? responder.reply(MessageCalls.Reply(reply: bytes.map { DataValue($0) }))
                case .failure(let error): responder.fail(VarlinkError(error))
                }
            }
        }
    }

    private func obey(_ request: VarlinkRequest) throws(ControlError) {
        try seat.check(request.caller.process)
        noteCall()
    }

    private func claim(_ labels: [String], _ request: VarlinkRequest) throws(ControlError) -> [String: SharedDescriptor]
    {
        receiveDescriptors()
        return try vault.claim(labels, from: request.caller.process)
    }

    private func isolated<T: Sendable>(_ body: (isolated Tunnel) throws -> T) throws -> T {
        try tunnel.assumeIsolated(body)
    }
}

extension VarlinkError {
    /// A `ControlError` as it stands in a reply.
    init(_ error: ControlError) { self.init(error.varlinkName, error) }
}
