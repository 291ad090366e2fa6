import LinuxSystem
import NetworkTypes
import PacketIO
import WireGuardCore

extension PacketLoopEngine {
    /// Does what a command says; one about a peer that is gone does nothing.
    func obey(_ command: LoopCommand, _ epoll: borrowing Epoll) {
        switch command {
        case .addPeer(let identifier, let watch, let endpoint):
            guard peers[identifier] == nil else { return }
            peers[identifier] = LoopPeer(identifier, watch, endpoint)
        case .removePeer(let identifier):
            if let peer = peers.removeValue(forKey: identifier) { wipeSessions(of: peer) }
        case .setEndpoint(let identifier, let endpoint):
            peers[identifier]?.move(to: endpoint.map { SocketAddress($0) } ?? .none)
        case .setAllowedIPs(let table):
            allowedIPs = table
        case .install(let identifier, let keys):
            if let peer = peers[identifier] { install(keys, for: peer) }
        case .wipeSessions(let identifier):
            if let peer = peers[identifier] { wipeSessions(of: peer) }
        case .wipeExpired(let identifier):
            let expired = peers[identifier]?.slots.remove { $0.isExpired(now: now) } ?? []
            for pair in expired { sessions[pair.keys.localIndex] = nil }
        case .send(let bytes, let endpoint):
            sendPlain(bytes, to: endpoint)
        case .keepalive(let identifier):
            if let peer = peers[identifier] { sendSomething(to: peer) }
        case .dropStaged(let identifier):
            guard let peer = peers[identifier] else { return }
            counters.stagedDropped &+= UInt64(peer.staged.takeAll().count)
            peer.handshakeAsked = nil
            touch(peer)
        case .setMTU(let mtu):
            // Raised because the paths are said to take more.
            if mtu > self.mtu { forgetPaths() }
            self.mtu = mtu
        case .setFragmentation(let isAllowed):
            mayFragment = isAllowed
            v4?.setFragmentation(allowed: isAllowed)
            v6?.setFragmentation(allowed: isAllowed)
        case .setDisabledOffloads(let offloads):
            disable(offloads)
        case .forgetPaths:
            forgetPaths()
        case .forgetBlackHoles(let address):
            forgetBlackHoles(at: address)
        case .setSockets(let v4, let v6):
            forgetPaths()
            self.v4 = exchange(self.v4, for: v4, Token.v4, epoll)
            self.v6 = exchange(self.v6, for: v6, Token.v6, epoll)
        case .answer(let done):
            done()
        }
    }

    /// Forgets all sessions and what waits.
    func forgetAll() {
        peers = [:]
        sessions = [:]
    }

    private func install(_ keys: SessionKeys, for peer: LoopPeer) {
        let pair = LoopKeyPair(keys, of: peer, with: ciphers)
        for dropped in peer.slots.install(pair, isInitiator: keys.isInitiator) {
            sessions[dropped.keys.localIndex] = nil
        }
        sessions[keys.localIndex] = pair
        peer.handshakeAsked = nil
        peer.sample.noteInstalled(isInitiator: keys.isInitiator, now: now)
        touch(peer)
    }

    private func wipeSessions(of peer: LoopPeer) {
        for pair in peer.slots.all { sessions[pair.keys.localIndex] = nil }
        peer.slots.removeAll()
    }

    private func sendSomething(to peer: LoopPeer) {
        if peer.staged.isEmpty { sendKeepalive(peer) } else { sendStaged(peer) }
        sendBatch()
    }

    private func sendPlain(_ bytes: [UInt8], to endpoint: Endpoint) {
        guard !bytes.isEmpty, bytes.count <= batch.room else { return counters.unsent &+= 1 }
        unsafe batch.next.copyMemory(from: bytes, byteCount: bytes.count)
        batch.append(bytes.count, to: SocketAddress(endpoint), ecn: 0)
        sendBatch()
    }

    private func exchange(
        _ old: UDPSocket?,
        for descriptor: SharedDescriptor?,
        _ token: UInt64,
        _ epoll: borrowing Epoll
    ) -> UDPSocket? {
        if let old { try? epoll.remove(old.descriptor.raw) }
        guard let descriptor else { return nil }
        do {
            let socket = try UDPSocket(adopting: descriptor)
            socket.setFragmentation(allowed: mayFragment)
            socket.allow(allowedAbilities)
            try epoll.add(descriptor.raw, for: .readable, token: token)
            return socket
        } catch {
            notices.add(.socketFailed(error))
            return nil
        }
    }
}
