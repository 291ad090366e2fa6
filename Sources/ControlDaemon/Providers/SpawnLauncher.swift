package import ControlAPI
import FoundationEssentials
import Glibc
package import LinuxSystem

/// Starts providers as children that detach themselves, each as a user of its own: for containers, tests, and machines
/// without systemd.
package struct SpawnLauncher: ProviderLauncher {
    /// `providers` in the runtime directory.
    private let folder: String

    package init(folder: String) throws(SystemError) {
        self.folder = folder
        // Every provider must be able to walk to its own folder, and none sees the others' names.
        try makeFolder(folder, mode: 0o711)
    }

    package func launch(_ launch: ProviderLaunch) async throws(ControlError) -> LaunchedProvider {
        guard let user = chooseUser(launch) else {
            throw ControlError(
                .providerFailed,
                "The tunnel's provider can't be started.",
                reason: "All user ids from \(ProviderUser.range.lowerBound) on are taken.",
                remedy: "Stop other tunnels."
            )
        }
        let place = folder(of: launch.identifier)
        do throws(SystemError) {
            try prepare(place, launch, user)
        } catch {
            try? FolderRemoval.remove(place)
            throw ControlError(
                .providerFailed,
                "The tunnel's provider can't be started.",
                reason: "Its folder can't be made: \(error)",
                remedy: error.fileRemedy(place)
            )
        }
        // A relative path reaches the folder also where those above it are closed to the user, or their names are long.
        let child = ChildProcess(
            program: launch.descriptor.executable,
            arguments: ["--directory", "."],
            environment: ["TUNNEL_ID": launch.identifier],
            directory: place,
            user: user
        )
        do throws(SpawnError) {
            let process = try child.start()
            guard let identity = ProcessIdentity(reading: process.pid) else {
                throw SpawnError(.execute, ESRCH)
            }
            return LaunchedProvider(process: process, identity: identity, user: user, folder: place)
        } catch {
            try? FolderRemoval.remove(place)
            throw SpawnFailure.error(launch.descriptor.executable, error)
        }
    }

    package func folder(of identifier: String) -> String { "\(folder)/\(identifier)" }

    package func clear(_ identifier: String, user: UInt32?) async {
        let place = folder(of: identifier)
        // The folder tells of a launch that tunneld didn't live to write down.
        for user in Set([user, Self.owner(of: place)].compactMap(\.self)) where ProviderUser.range.contains(user) {
            // Some may be started while others are killed.
            for _ in 0..<Self.killRounds where Self.endAll(of: user) == 0 { break }
        }
        try? FolderRemoval.remove(place)
    }

    package func identifiers() -> [String] { (try? FileSystem.names(inFolder: folder)) ?? [] }

    private func chooseUser(_ launch: ProviderLaunch) -> UInt32? {
        let taken = ProviderUser.usersOfProcesses()
        if let user = launch.user, !taken.contains(user) { return user }
        return ProviderUser.free(for: launch.identifier, taken: taken)
    }

    private func prepare(_ place: String, _ launch: ProviderLaunch, _ user: UInt32) throws(SystemError) {
        // What an earlier provider may have left in it is not to be trusted.
        try FolderRemoval.remove(place)
        try makeFolder(place, mode: 0o700)
        let document = LaunchDocument(identifier: launch.identifier, nonce: launch.nonce, controllerUser: geteuid())
        guard let bytes = try? JSONEncoder().encode(document) else { throw SystemError(EINVAL, in: "write") }
        try AtomicFile.write(to: "\(place)/launch", mode: 0o400) { file throws(SystemError) in
            try unsafe AtomicFile.writeAll(Array(bytes).span.bytes, to: file)
            try check("fchown") { fchown(file, user, user) }
        }
        try check("chown") { unsafe lchown(place, user, user) }
    }

    private static let killRounds = 10

    /// Kills every process of a provider's user: the provider, and what it may have started.
    ///
    /// - Returns: how many there were.
    private static func endAll(of user: UInt32) -> Int {
        var count = 0
        for name in (try? FileSystem.names(inFolder: "/proc")) ?? [] {
            guard let pid = Int32(name), let process = try? ProcessDescriptor(pid: pid),
                let bytes = try? FileSystem.contents(ofFile: "/proc/\(name)/status", limit: 64 << 10),
                let privileges = ThreadPrivileges(parsing: String(decoding: bytes, as: UTF8.self)),
                privileges.users.contains(user)
            else { continue }
            if !process.hasEnded {
                try? process.signal(SIGKILL)
                count += 1
            }
            if process.waitForEnd(milliseconds: 2000) { _ = process.collect() }
        }
        return count
    }

    private static func owner(of folder: String) -> UInt32? {
        var status = stat()
        return unsafe lstat(folder, &status) == 0 ? status.st_uid : nil
    }
}
