import ControlAPI
import Dispatch
import EventLoop
import Journal
import LinuxSystem
import NetworkTypes

/// Notices configuration files that somebody else writes, by hand or by configuration management.
///
/// A good one becomes a new generation, as if a client had saved it. One that can't be used is set aside and reported, and
/// the last good generation stays in force. A file that is removed takes its configuration along, which can be restored.
package actor ExternalEdits {
    /// How long a folder must be quiet before its files are looked at: an editor may remove a file and write it again.
    static let quiet = Interval.milliseconds(300)
    /// How long a file that can't be used may take to become whole.
    static let patience = Interval.milliseconds(1500)

    private let store: ConfigurationStore
    private let catalogue: ProviderCatalogue
    private let tunnels: Tunnels
    private let directories: DaemonDirectories
    private let log: Logger
    private var watch: FolderWatch?
    private var waiting: Set<String> = []
    private var work: Task<Void, Never>?

    init(
        store: ConfigurationStore,
        catalogue: ProviderCatalogue,
        tunnels: Tunnels,
        directories: DaemonDirectories,
        log: Logger
    ) {
        self.store = store
        self.catalogue = catalogue
        self.tunnels = tunnels
        self.directories = directories
        self.log = log
    }

    /// Begins to watch, and takes over what was changed before.
    ///
    /// - Parameter identifiers: the configurations whose files were changed while no tunneld ran.
    func start(changed identifiers: [String]) async {
        do {
            let queue = DispatchQueue(label: "external-edits")
            watch = try FolderWatch(directories.configurations, on: queue) { [weak self] news in
                Task { await self?.noticed(news) }
            }
        } catch {
            log.warning("Files that others write aren't noticed before the next start of tunneld: \(error)")
        }
        for identifier in identifiers { await look(at: ConfigurationFile.name(identifier), isLast: true) }
    }

    func stop() {
        watch?.cancel()
        work?.cancel()
    }

    private func noticed(_ news: FolderWatch.News) {
        switch news {
        case .names(let names): waiting.formUnion(names)
        case .overflow: waiting.formUnion((try? FileSystem.names(inFolder: directories.configurations)) ?? [])
        case .folderGone:
            log.error("The folder \(directories.configurations) is gone; restart tunneld once it is back.")
            return
        }
        guard work == nil else { return }
        work = Task { await self.workOff() }
    }

    private func workOff() async {
        while !waiting.isEmpty, !Task.isCancelled {
            try? await Pause.sleep(for: Self.quiet)
            let names = waiting
            waiting = []
            for name in names.sorted() { await look(at: name, isLast: false) }
        }
        work = nil
    }

    /// Looks at one file.
    ///
    /// - Parameter isLast: whether one that can't be used is set aside at once.
    private func look(at name: String, isLast: Bool) async {
        // While files are being written, what isn't called IDENTIFIER.json is somebody's temporary file.
        guard !name.hasPrefix("."), let identifier = ConfigurationFile.identifier(inName: name),
            await !store.isAsWritten(identifier)
        else { return }
        let path = "\(directories.configurations)/\(name)"
        guard let stamp = try? FileStamp(of: path) else { return await removed(identifier) }
        do {
            try await take(ConfigurationFile.readEdited(path, identifier: identifier))
        } catch {
            if case .unreadable(let error)? = error as? ConfigurationFile.Fault {
                return log.warning("The configuration file \(path) can't be read: \(error)")
            }
            guard isLast else { return await lookAgain(at: name, stamp) }
            await store.reject(identifier, name: name, stamp, Self.sentence(error))
        }
    }

    /// Gives a file that can't be used the time to become whole.
    private func lookAgain(at name: String, _ stamp: FileStamp) async {
        try? await Pause.sleep(for: Self.patience)
        let isSame = stamp == (try? FileStamp(of: "\(directories.configurations)/\(name)"))
        if isSame { await look(at: name, isLast: true) } else { waiting.insert(name) }
    }

    /// Saves a configuration that somebody else wrote into its file.
    private func take(_ configuration: Configuration) async throws {
        let identifier = configuration.identifier
        let previous = await store.configuration(identifier)
        var same = configuration
        same.generation = previous?.generation ?? 0
        if same == previous { return await store.rewrite(identifier) }
        let descriptor =
            if let provider = configuration.provider { try? await catalogue.descriptor(provider.identifier) } else {
                ProviderDescriptor?.none
            }
        let draft = ConfigurationStore.Draft(
            configuration: configuration,
            generation: nil,
            places: SecretPlaces(keys: descriptor?.secretKeys ?? []),
            origin: .file
        )
        try await store.check(draft)
        if let descriptor, let provider = configuration.provider, previous?.provider != provider {
            _ = try await catalogue.validate(provider.configuration, by: descriptor)
        }
        let saved = try await store.save(draft)
        log.notice(
            "Somebody else wrote the file of \(saved.name): it is generation \(saved.generation) now.",
            [.tunnelID(identifier)]
        )
    }

    private func removed(_ identifier: String) async {
        guard let configuration = await store.configuration(identifier) else { return }
        log.notice(
            "Somebody else removed the file of \(configuration.name); tunnelctl restore \(identifier) "
                + "\(configuration.generation) brings it back.",
            [.tunnelID(identifier)]
        )
        if let tunnel = await tunnels.existing(identifier) {
            await tunnel.stop(session: nil, reason: "The configuration was removed.")
            await tunnel.idle()
        }
        await store.lose(identifier, "Its file was removed by somebody else.")
        await tunnels.existing(identifier)?.retire()
        await tunnels.forget(identifier)
    }

    private static func sentence(_ error: any Error) -> String {
        if let error = error as? ControlError {
            return "\(error.field ?? "it") is wrong: \(error.reason ?? error.message)"
        }
        let text = "\(error)"
        return text.hasSuffix(".") ? text : text + "."
    }
}
