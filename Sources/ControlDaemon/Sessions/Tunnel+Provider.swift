import ControlAPI
import EventLoop
import Glibc
import HostNetwork
import Journal
import LinuxSystem
import NetworkTypes
import VarlinkSocket

/// What comes from the provider: its end, its states, its requests, its descriptors.
extension Tunnel {
    /// More look-ups than a provider has reason for.
    private static let requestLimit = 256

    /// Notices the end of the process at once.
    func watch(_ provider: LaunchedProvider) {
        guard let session = live?.session else { return }
        let source = DescriptorSource(provider.process.descriptor, .readable, on: queue) { @Sendable [weak self] in
            self?.assumeIsolated { $0.processEnded(provider, session) }
        }
        live?.watch?.cancel()
        live?.watch = source
        live?.memoryKills = MemoryKills(ofProcess: provider.identity.pid)
        source.resume()
    }

    private func processEnded(_ provider: LaunchedProvider, _ session: String) {
        live?.watch?.cancel()
        live?.watch = nil
        Task { await self.providerEnded(provider, session) }
    }

    /// A provider ends with its device, and mostly says so; the kernel says it for certain.
    private func providerEnded(_ provider: LaunchedProvider, _ session: String) async {
        await hearLastWords()
        guard live?.provider?.identity == provider.identity else { return }
        var error = endOfProvider(after: nil) ?? ControlError(.providerFailed, "The tunnel's provider ended.")
        if let interface = live?.interface, await services.network.state(of: interface) == .gone {
            error = Self.interfaceIsGone(interface.name)
        }
        guard live?.provider?.identity == provider.identity else { return }
        log.warning("\(error.message) \(error.reason ?? "")")
        take(.providerLost(error), of: session)
    }

    /// Why the provider's process is gone; nil while it lives.
    ///
    /// - Parameter error: what failed, perhaps because of that; what the provider itself said counts more.
    func endOfProvider(after error: ControlError?) -> ControlError? {
        guard let process = live?.provider?.process else { return nil }
        // The end of a process is seen a moment after its sockets are closed.
        guard process.waitForEnd(milliseconds: error?.name == .providerFailed ? 100 : 0) else { return nil }
        let end = process.collect() ?? .unknown
        if end != .unknown { live?.providerEnd = end }
        if let told = live?.state?.error { return told }
        if let error, error.name != .providerFailed { return error }
        let known = live?.providerEnd ?? end
        if known == .signalled(SIGKILL) || known == .unknown, let kills = live?.memoryKills, kills.count > 0 {
            return ControlError(
                .providerFailed,
                "The tunnel's provider was killed for lack of memory.",
                reason: "Process \(process.pid) had reached the limit of its control group, or the machine its own.",
                remedy: "Give it more memory: MemoryMax= of the unit, or memory.max of the control group."
            )
        }
        return ControlError(
            .providerFailed,
            "The tunnel's provider ended.",
            reason: "Process \(process.pid) \(known).",
            remedy: "Its last words are in \(LogHint.tunneld)."
        )
    }

    /// Reads states and requests until the provider closes.
    func read(_ replies: ReplyStream.Iterator, of session: String) {
        live?.isHeardOut = false
        let task = Task { [weak self] in
            do {
                while let reply = try await replies.next() {
                    guard let self else { return }
                    await self.received(try reply.decode(), session)
                    await self.permitNews()
                }
            } catch is CancellationError {
                return
            } catch {
                await self?.connectionLost("\(error)", session)
                return
            }
            await self?.connectionLost("It closed the connection.", session)
        }
        live?.readers.append(task)
    }

    /// Reads the descriptors that the provider hands over from now on.
    func readDescriptors() {
        guard let connection = live?.connection else { return }
        let task = Task { [weak self] in
            while let message = try? await connection.descriptors.receive() { await self?.keep(message) }
        }
        live?.readers.append(task)
    }

    private func received(_ reply: ProviderCalls.AttachReply, _ session: String) {
        guard live?.session == session else { return }
        if let state = reply.state {
            let (called, limits) = (live?.calledEndpoints, live?.pathLimits)
            live?.state = state
            if live?.calledEndpoints != called || live?.pathLimits != limits { Task { await self.endpointsChanged() } }
            keepTimestamp(state.lastTimestamp)
            keepEndpoints(state)
            take(.reported(state), of: session)
        }
        if let request = reply.request { answer(request) }
    }

    private func connectionLost(_ reason: String, _ session: String) {
        guard live?.session == session else { return }
        live?.isHeardOut = true
        guard live?.watch != nil else { return }
        // As a rule the process has ended, and its end says more.
        if endOfProvider(after: ControlError(.providerFailed, "")) != nil { return }
        let error = ControlError(.providerFailed, "The connection to the tunnel's provider broke.", reason: reason)
        log.warning("\(error.message) \(reason)")
        take(.providerLost(error), of: session)
    }

    private func keepTimestamp(_ timestamp: String?) {
        guard let timestamp else { return }
        let known = live?.keptTimestamp
        do throws(SystemError) {
            let kept = try services.timestamps.keep(timestamp, of: identifier, known: known)
            live?.keptTimestamp = kept
        } catch {
            if timestamp > known ?? "" { live?.keptTimestamp = timestamp }
            log.warning("The last timestamp can't be kept on disk, going on: \(error)")
        }
    }

    // MARK: Requests

    private func answer(_ request: ProviderRequest) {
        guard let connection = live?.connection, let open = live?.openRequests, let session = live?.session else {
            return
        }
        live?.openRequests = open + 1
        Task {
            let supplied: ProviderCalls.SupplyParameters
            do throws(ControlError) {
                guard open < Self.requestLimit else { throw ControlError(.tooMany, "Too many requests at once.") }
                supplied = try await self.supply(request, connection)
            } catch {
                supplied = ProviderCalls.SupplyParameters(request: request.number, error: error)
            }
            do {
                _ = try await self.ask("Supply", supplied, timeout: Self.statusPatience, over: connection)
                // The rules for what comes back from outside name the port.
                if supplied.listenPort != nil { try await self.putInForce(nil) }
            } catch {
                self.log.warning("The provider's request \(request.number) was answered in vain: \(error)")
            }
            if self.live?.session == session { self.live?.openRequests -= 1 }
        }
    }

    private func supply(
        _ request: ProviderRequest,
        _ connection: ProviderConnection
    ) async throws(ControlError) -> ProviderCalls.SupplyParameters {
        switch request.kind {
        case .path:
            Task { await self.endpointsChanged() }
            return ProviderCalls.SupplyParameters(request: request.number)
        case .resolve:
            let addresses = try await services.network.resolve(request.name ?? "")
            await permit(addresses, of: request.name ?? "")
            return ProviderCalls.SupplyParameters(request: request.number, addresses: addresses)
        case .sockets:
            let sockets = try services.network.openSockets(port: request.port ?? 0)
            do {
                try await connection.send(sockets.labelled)
            } catch let error as ControlError {
                throw error
            } catch {
                throw ControlError(.providerFailed, "The sockets can't be passed.", reason: "\(error)")
            }
            live?.record.listenPort = sockets.port
            try await permitWhatIsKnown()
            for (label, descriptor) in sockets.labelled { live?.descriptors[label] = descriptor }
            watchWorkAnew()
            try? saveRecord()
            return ProviderCalls.SupplyParameters(
                request: request.number,
                listenPort: sockets.port,
                descriptors: sockets.labelled.keys.sorted()
            )
        }
    }
}
