import ControlAPI
import HostNetwork
import Journal
import NetworkTypes

/// What others do to the tunnel's interface.
extension Tunnel {
    /// Looks whether the interface is there and up; a new one is made where it is gone.
    func checkInterface() async {
        guard keepsNetwork, let session = live?.session, let interface = live?.interface else { return }
        let state = await services.network.state(of: interface)
        // What was found may be out of date: the session ended, or another interface was made.
        guard keepsNetwork, live?.session == session, live?.interface == interface else { return }
        switch state {
        case .renamed(let name):
            await goOn(under: name, interface, session)
            await checkInterface()
        case .gone: take(.providerLost(Self.interfaceIsGone(interface.name)), of: session)
        // Being off costs routes, and addresses of IPv6, also where somebody has switched it on again.
        case .down, .up: await mend(isFresh: state == .down)
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
        await permitNews()
    }

    /// What stands against the interface in this state; nil for one that isn't known.
    func interfaceProblem(_ state: InterfaceState?) -> String? {
        guard let name = live?.interface?.name else { return nil }
        return switch state {
        case .gone: Self.interfaceIsGone(name).message
        case .down: live?.mendProblem ?? "The interface \(name) is down: it was switched off from outside."
        case .up, .renamed, nil: live?.mendProblem
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
        live?.mendProblem = nil
        _ = try await makeInterface(name, owner: user)
        return true
    }

    static func interfaceIsGone(_ name: String) -> ControlError {
        ControlError(
            .providerFailed,
            "The interface \(name) was deleted from outside.",
            remedy: "Find out what deletes or moves it, and start the tunnel again."
        )
    }
}
