import ControlAPI
import Glibc
import Journal
import LinuxSystem
import NetworkTypes
import ProviderRuntime
import WireGuardCore

/// What happens to a running tunnel.
extension WireGuardTunnel {
    func timerFired() {
        if case .running(let tunnel) = phase { tunnel.driver.expire() }
    }

    func lookedUp(_ name: String, _ peer: PeerIdentifier, _ answer: ProviderLink.Answer) {
        guard case .running(let tunnel) = phase else { return }
        switch answer {
        case .success(let supplied):
            let addresses = supplied.addresses.compactMap { IPAddress($0) }
            let failure = addresses.isEmpty ? "no address" : nil
            tunnel.driver.lookedUp(name, for: peer, addresses, failure: failure)
        case .failure(let error):
            tunnel.driver.lookedUp(
                name,
                for: peer,
                [],
                failure: error.reason ?? error.message,
                isAnswer: error.name == .notFound
            )
        }
    }

    /// What the packet loop tells.
    func take(_ notices: [LoopNotice]) {
        guard case .running(let tunnel) = phase else { return }
        for notice in notices {
            switch notice {
            case .deviceFailed(let code):
                let error = SystemError(code, in: "read")
                if code == EBADFD {
                    fail("The interface \(tunnel.interface) was deleted from outside.", reason: "\(error)")
                } else {
                    fail("The interface \(tunnel.interface) can't be read from.", reason: "\(error)")
                }
                return
            case .socketFailed(let error):
                logger.warning("An outer socket can't be used, going on without: \(error)")
                tunnel.notes["socket"] = "One of the outer sockets can't be used: \(error)"
                link.send(.stateChanged)
            case .pathError(_, EMSGSIZE): lookAtPath(tunnel)
            case .blackHole(let endpoint, let passing, let failing):
                found(blackHoleAt: endpoint.address, passing: passing, failing: failing, tunnel)
            case .abilitiesChanged(let abilities): tell(abilities, tunnel)
            default: break
            }
        }
        tunnel.driver.take(notices)
    }

    /// Says once of each offload that the tunnel does without it, and in its state as long as it is so.
    private func tell(_ abilities: LoopAbilities, _ tunnel: RunningTunnel) {
        let missing = abilities.missing
        let news = missing.filter { !tunnel.missingOffloads.contains($0) }
        tunnel.missingOffloads.formUnion(news)
        if !news.isEmpty { logger.info("Going on without \(news.joined(separator: ", ")), with less throughput.") }
        tunnel.notes["offloads"] =
            missing.isEmpty ? nil : "With less throughput, for this kernel refuses \(missing.joined(separator: ", "))."
        tunnel.notes["disabledOffloads"] = abilities.disabledNote
        link.send(.stateChanged)
    }

    // MARK: The socket of wg

    func serveDeviceSocket(_ event: DeviceSocket.Event) {
        guard case .running(let tunnel) = phase, let socket = tunnel.deviceSocket else { return }
        socket.handle(event)
        answerOperations(tunnel, socket)
    }

    private func answerOperations(_ tunnel: RunningTunnel, _ socket: DeviceSocket) {
        while !tunnel.isChangingPort, let (operation, client) = socket.next() {
            switch operation {
            case .get:
                let sockets = tunnel.sockets
                socket.answer(
                    client,
                    with: tunnel.driver.report(listenPort: sockets.port, mark: sockets.mark, clock: .read())
                )
            case .set(let change): apply(change, client, tunnel, socket)
            }
        }
    }

    /// Applies a change whole or not at all; another port comes first, for only that may still fail.
    private func apply(_ change: DeviceChange, _ client: Int, _ tunnel: RunningTunnel, _ socket: DeviceSocket) {
        do throws(OperationError) {
            try tunnel.driver.check(change, mark: tunnel.sockets.mark)
            guard let port = change.listenPort, port != tunnel.sockets.port else {
                try tunnel.driver.apply(change)
                keepChanges(of: tunnel)
                socket.answer(client, with: nil)
                return
            }
            tunnel.isChangingPort = true
            link.send(
                .request(.sockets, name: nil, port: Int(port)) { @Sendable [weak self] answer in
                    self?.assumeIsolated { $0.portChanged(answer, change, client) }
                }
            )
        } catch {
            socket.answer(client, with: error)
        }
    }

    private func portChanged(_ answer: ProviderLink.Answer, _ change: DeviceChange, _ client: Int) {
        guard case .running(let tunnel) = phase, let socket = tunnel.deviceSocket else { return }
        tunnel.isChangingPort = false
        var error: OperationError? = .portUnavailable
        if let sockets = newSockets(answer) {
            tunnel.use(sockets)
            link.send(.descriptorsChanged)
            link.send(.stateChanged)
            do throws(OperationError) {
                try tunnel.driver.apply(change)
                keepChanges(of: tunnel)
                error = nil
            } catch let fault {
                error = fault
            }
        }
        socket.answer(client, with: error)
        answerOperations(tunnel, socket)
    }

    func newSockets(_ answer: ProviderLink.Answer) -> OuterSockets? {
        guard case .success(let supplied) = answer else { return nil }
        return try? OuterSockets(supplied.descriptors)
    }
}
