import ControlAPI
import HostNetwork
import Journal
import NetworkTypes

/// What others do to the tunnel's interface.
extension Tunnel {
    /// Looks whether the interface is there and up; a new one is made where it is gone.
    func checkInterface() async {
        guard isReady, let session = live?.session, let interface = live?.interface else { return }
        let state = await services.network.state(of: interface)
        // What was found may be out of date: the session ended, or another interface was made.
        guard isReady, live?.session == session, live?.interface == interface else { return }
        switch state {
        case .renamed(let name):
            await goOn(under: name, interface, session)
            await checkInterface()
        case .gone: take(.providerLost(Self.interfaceIsGone(interface.name)), of: session)
        case .down:
            if live?.isInterfaceDown == false { log.warning("The interface \(interface.name) was switched off.") }
            live?.isInterfaceDown = true
            take(.interfaceChanged(problem: Self.isDown(interface.name)), of: session)
        case .up:
            if live?.isInterfaceDown == true {
                live?.isInterfaceDown = false
                await restoreNetwork(interface.name)
                // It may have changed again meanwhile.
                return await checkInterface()
            }
            take(.interfaceChanged(problem: nil), of: session)
        }
    }

    /// Takes another name of the interface over: number, addresses and routes stay, and what is named after it follows.
    private func goOn(under name: String, _ interface: InterfaceIdentity, _ session: String) async {
        // What is being put in force keeps the old name, and would bring it back.
        await networkTurn?.value
        guard isReady, live?.session == session, live?.interface == interface else { return }
        live?.record.network.interface = InterfaceIdentity(index: interface.index, name: name)
        live?.record.interface = name
        var note = "The interface \(interface.name) was renamed to \(name) from outside."
        if let socket = live?.record.wgSocket {
            if let moved = WGSocket.rename(socket, interface: name) {
                live?.record.wgSocket = moved
            } else {
                note += " For wg it still has the old name."
            }
        }
        live?.record.renaming = note
        do { try saveRecord() } catch { log.warning("The session's journal can't be written, going on: \(error)") }
        log.notice("\(note) The tunnel goes on under its new name.")
        // On kernels before 6.2 it was down for that, and has lost its routes.
        if await services.network.state(of: InterfaceIdentity(index: interface.index, name: name)) == .up {
            await restoreNetwork(name)
        }
    }

    /// The kernel has taken routes, and addresses of IPv6, away with the interface's being up.
    private func restoreNetwork(_ name: String) async {
        do {
            try await putInForce(nil)
            log.notice("The interface \(name) is on, with its addresses and routes.")
        } catch {
            log.warning("The interface \(name) is on, but its settings can't be put in force: \(error)")
        }
    }

    /// What stands against an interface of this name in this state.
    static func problem(_ state: InterfaceState, _ name: String) -> String? {
        switch state {
        case .up, .renamed: nil
        case .down: isDown(name)
        case .gone: interfaceIsGone(name).message
        }
    }

    /// Makes the interface anew, under its name, for a provider that was just launched, unless the old one is there.
    ///
    /// - Returns: whether it did.
    func replaceInterfaceIfGone() async throws -> Bool {
        guard let name = live?.record.interface, let user = live?.record.user else { throw Self.sessionEnded }
        step = "make the interface anew"
        if let interface = live?.interface {
            let isThere = await services.network.state(of: interface) != .gone
            if isThere, live?.descriptors[DescriptorLabel.tun] != nil { return false }
            // One that was made for another user, whose provider didn't get there.
            if isThere { _ = await services.network.removeDevice(named: name) }
        }
        log.warning("The interface \(name) is gone; making it anew.")
        live?.descriptors[DescriptorLabel.tun] = nil
        live?.isInterfaceDown = false
        _ = try await makeInterface(name, owner: user)
        return true
    }

    private static func isDown(_ name: String) -> String {
        "The interface \(name) is down: it was switched off from outside. Switch it on: ip link set \(name.shellQuoted) up."
    }

    static func interfaceIsGone(_ name: String) -> ControlError {
        ControlError(
            .providerFailed,
            "The interface \(name) was deleted from outside.",
            remedy: "Find out what deletes or moves it, and start the tunnel again."
        )
    }
}
