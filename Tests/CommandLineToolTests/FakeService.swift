import ControlAPI
import LinuxSystem
import VarlinkCore
import VarlinkSocket

/// tunneld's interfaces, answered by a fake.
enum FakeService {
    static func make(_ box: FakeBox, version: String, interfaces: [String]?) throws -> VarlinkService {
        let all = [
            InterfaceDescriptions.configurations, InterfaceDescriptions.sessions, InterfaceDescriptions.keychain,
            InterfaceDescriptions.diagnostics, InterfaceDescriptions.network,
        ]
        var service = VarlinkService(
            ServiceDescription(
                vendor: ProductVersion.vendor,
                product: ProductVersion.product,
                version: version,
                url: "",
                interfaces: try (interfaces ?? all).map { try InterfaceDescription(parsing: $0) }
            )
        )
        addSessions(&service, box)
        addConfigurations(&service, box)
        service.on("org.tunneld.Diagnostics.Doctor") { (_: NoParameters, _) in
            let fake = try box.get()
            try fake.called("Doctor")
            return DiagnosticsCalls.DoctorReply(findings: fake.update { $0.findings })
        }
        service.on("org.tunneld.Network.Snapshot") { (_: NoParameters, _) in
            NetworkCalls.SnapshotReply(network: try box.get().update { $0.network })
        }
        service.onMore("org.tunneld.Network.Watch") { request in
            let network = try box.get().update { $0.network }
            let change = NetworkChangeView(kind: "carrierLost", interface: "eth0", value: nil)
            try request.responder.send(NetworkCalls.WatchReply(network: network, changes: []))
            try request.responder.reply(NetworkCalls.WatchReply(network: network, changes: [change]))
        }
        return service
    }

    private static func addSessions(_ service: inout VarlinkService, _ box: FakeBox) {
        service.on("org.tunneld.Sessions.Status") { (parameters: SessionsCalls.StatusParameters, _) in
            let fake = try box.get()
            try fake.called("Status")
            try await Task.sleep(for: fake.update { $0.statusDelay })
            let sessions = fake.update { state in
                let onStatus = state.onStatus
                onStatus(&state)
                return state.sessions.filter { parameters.identifier == nil || $0.identifier == parameters.identifier }
            }
            return SessionsCalls.StatusReply(sessions: sessions)
        }
        service.on("org.tunneld.Sessions.List") { (_: NoParameters, _) in
            let fake = try box.get()
            try fake.called("List")
            return SessionsCalls.ListReply(entries: fake.update { $0.entries })
        }
        service.on("org.tunneld.Sessions.Start") { (parameters: SessionsCalls.StartParameters, _) in
            let fake = try box.get()
            try fake.called("Start")
            let onStart = fake.update { $0.onStart }
            return onStart(fake, parameters.identifier)
        }
        service.on("org.tunneld.Sessions.Stop") { (parameters: SessionsCalls.StopParameters, _) in
            let fake = try box.get()
            try fake.called("Stop")
            if let denial = fake.update({ $0.denied[parameters.identifier] }) {
                throw VarlinkError(denial.varlinkName, denial)
            }
            let onStop = fake.update { $0.onStop }
            onStop(fake, parameters.identifier)
            return NoParameters()
        }
        service.on("org.tunneld.Sessions.Statistics") { (parameters: SessionsCalls.StatusParameters, _) in
            let fake = try box.get()
            try fake.called("Statistics")
            let view = fake.update { state in state.sessions.first { $0.identifier == parameters.identifier } }
            return SessionsCalls.StatisticsReply(
                identifier: parameters.identifier ?? "",
                readAt: Samples.now,
                counters: view?.counters,
                peers: view?.peers ?? []
            )
        }
        service.on("org.tunneld.Sessions.SendMessage") { (parameters: MessageCalls.SendParameters, _) in
            let fake = try box.get()
            try fake.called("SendMessage")
            return fake.update { state in
                state.messages.append(parameters)
                return MessageCalls.Reply(reply: state.answer)
            }
        }
        service.on("org.tunneld.Sessions.Monitor") { request in
            let parameters: SessionsCalls.StatusParameters = try request.parameters()
            let fake = try box.get()
            try fake.called("Monitor")
            try fake.monitor(parameters.identifier, request.responder)
        }
    }

    private static func addConfigurations(_ service: inout VarlinkService, _ box: FakeBox) {
        service.on("org.tunneld.Configurations.Load") { (parameters: ConfigurationsCalls.LoadParameters, _) in
            let fake = try box.get()
            try fake.called("Load")
            let found = fake.update { state in
                state.allConfigurations.first { $0.identifier == parameters.identifier }
            }
            return ConfigurationsCalls.LoadReply(configuration: found, readAt: Samples.now)
        }
        service.on("org.tunneld.Configurations.LoadAll") { request in
            let fake = try box.get()
            try fake.called("LoadAll")
            let all = fake.update { $0.allConfigurations }
            for configuration in all.dropLast() {
                let reply = ConfigurationsCalls.LoadReply(configuration: configuration, readAt: Samples.now)
                try request.responder.send(reply)
            }
            let last = ConfigurationsCalls.LoadReply(configuration: all.last, readAt: Samples.now)
            try request.responder.reply(last)
        }
        service.on("org.tunneld.Configurations.Save") { (parameters: ConfigurationsCalls.SaveParameters, request) in
            let fake = try box.get()
            try fake.called("Save")
            try keep(request.descriptors, fake)
            fake.update { $0.saves.append(parameters) }
            let onSave = fake.update { $0.onSave }
            do {
                return try onSave(fake, parameters)
            } catch let error as ControlError {
                throw VarlinkError(error.varlinkName, error)
            }
        }
        service.on("org.tunneld.Configurations.History") { (parameters: ConfigurationsCalls.LoadParameters, _) in
            let fake = try box.get()
            try fake.called("History")
            return fake.update { $0.history }
        }
        service.on("org.tunneld.Configurations.Restore") { (parameters: ConfigurationsCalls.RestoreParameters, _) in
            let fake = try box.get()
            try fake.called("Restore")
            fake.update { $0.restores.append(parameters) }
            return ConfigurationsCalls.SaveReply(identifier: parameters.identifier, generation: 8, warnings: ["w"])
        }
        service.on("org.tunneld.Configurations.Lost") { (_: NoParameters, _) in
            ConfigurationsCalls.LostReply(configurations: try box.get().update { $0.lost })
        }
        service.on("org.tunneld.Configurations.Watch") { request in
            throw VarlinkError.expectedMore
        }
        service.on("org.tunneld.Configurations.Remove") { (parameters: ConfigurationsCalls.RemoveParameters, _) in
            let fake = try box.get()
            try fake.called("Remove")
            fake.update {
                $0.removals.append(parameters.identifier)
                $0.removedGenerations.append(parameters.generation)
            }
            return NoParameters()
        }
        service.on("org.tunneld.Keychain.Reveal") { request in
            let fake = try box.get()
            try fake.called("Reveal")
            let secrets = fake.update { $0.secrets }
            let reply = KeychainCalls.RevealReply(count: secrets.count)
            try request.responder.reply(reply, descriptors: [try bundle(secrets)])
        }
    }

    private static func keep(_ descriptors: [SharedDescriptor], _ fake: FakeTunneld) throws {
        guard let descriptor = descriptors.first else { return }
        var found: [String: [UInt8]] = [:]
        let whole = try unsafe MemoryFile.withContents(of: descriptor.raw, limit: SecretBundle.maximumBytes) { bytes in
            unsafe SecretBundle.read(bytes) { label, secret in unsafe found[label] = Array(secret) }
        }
        guard whole else { throw VarlinkError.internalError("The bundle is broken.") }
        fake.update { $0.savedSecrets = found }
    }

    private static func bundle(_ secrets: [(label: String, bytes: [UInt8])]) throws -> SharedDescriptor {
        let size = SecretBundle.byteCount(secrets.map { ($0.label, $0.bytes.count) })
        let file = try unsafe MemoryFile.make(name: "fake-secrets", count: size) { buffer in
            var writer = unsafe SecretBundle.Writer(into: buffer)
            for (label, bytes) in secrets {
                _ = unsafe bytes.withUnsafeBytes { unsafe writer.append(label: label, secret: $0) }
            }
        }
        return SharedDescriptor(file)
    }
}
