import ControlAPI
import Dispatch
import EventLoop
import Glibc
import HostNetwork
import Journal
import LinuxSystem
import NetworkTypes
import VarlinkSocket

/// Takes everything back that a session made; what was never made is passed over.
extension Tunnel {
    /// How long a provider may take to end by itself once it was told to.
    private static let graceMilliseconds: Int32 = 2000
    /// How long the end of a process that was killed is waited for.
    private static let killMilliseconds: Int32 = 10_000

    /// - Parameter isUnasked: whether the session ends though nobody stopped it.
    /// - Returns: false where tunneld let go of the session meanwhile: the next one does the rest, by the journal.
    func tearDown(_ session: String, isUnasked: Bool) async -> Bool {
        guard live?.session == session else { return false }
        step = "end the provider"
        await endProvider(graceful: true)
        // Nothing is put in force any more once this has returned.
        await networkTurn?.value
        guard let record = live?.record, record.session == session else { return false }
        step = "take the network settings back"
        let remains = await revertNetwork(record)
        step = "settle the block"
        // Last of what protects, and not between two sessions.
        if !isFollowed { await settleBlock(record, isUnasked: isUnasked) }
        step = "remove the session's files"
        _ = WGSocket.remove(record, in: services.wgFolder)
        await services.launcher.clear(identifier, user: record.user)
        services.memory.forget(identifier)
        if remains.isEmpty {
            do { try services.journal.remove(identifier) } catch {
                log.warning("The session's journal can't be removed; the next start of tunneld will: \(error)")
            }
        } else {
            log.error("Not everything could be taken back: \(remains.joined(separator: "; "))")
        }
        await services.store.unpin(by: session)
        return true
    }

    private func revertNetwork(_ record: SessionRecord) async -> [String] {
        var remains: [String] = []
        if record.network.interface == nil, let name = record.interface {
            remains = await services.network.removeDevice(named: name)
        }
        if !record.network.isEmpty { remains += await services.network.takeBack(record.network).failed }
        return remains
    }

    /// Ends the provider's process, for certain.
    ///
    /// - Parameter graceful: whether it gets a chance to end by itself.
    /// - Returns: false where it was killed and isn't gone yet: only one that the kernel holds, such as a frozen one.
    @discardableResult
    func endProvider(graceful: Bool) async -> Bool {
        endWorkWatch()
        guard let provider = live?.provider else { return true }
        live?.watch?.cancel()
        live?.watch = nil
        if graceful { await askToEnd(provider) }
        if !provider.process.hasEnded {
            if graceful { log.info("The provider, process \(provider.process.pid), didn't end by itself; killing it.") }
            do { try provider.process.signal(SIGKILL) } catch {
                log.error("The provider, process \(provider.process.pid), can't be killed: \(error)")
            }
            guard await Self.end(of: provider.process, milliseconds: Self.killMilliseconds) else { return false }
        }
        _ = provider.process.collect()
        let readers = live?.readers ?? []
        for reader in readers { reader.cancel() }
        live?.pathRecheck?.cancel()
        for reader in readers { await reader.value }
        live?.readers = []
        if let connection = live?.connection {
            // What it handed over last may not have been read yet.
            for message in await connection.descriptors.receiveWaiting() { keep(message) }
            await connection.close()
        }
        live?.connection = nil
        live?.provider = nil
        return true
    }

    /// Has the provider end by itself: by its call, and where it can't be called or doesn't heed it, by the signal.
    private func askToEnd(_ provider: LaunchedProvider) async {
        if let connection = live?.connection, !provider.process.hasEnded {
            let stop = ProviderCalls.StopParameters(reason: "The session was stopped.")
            let timeout = Interval.milliseconds(Int(Self.graceMilliseconds))
            if (try? await connection.call("Stop", stop, timeout: timeout)) != nil {
                _ = await Self.end(of: provider.process, milliseconds: Self.graceMilliseconds)
            }
        }
        guard !provider.process.hasEnded, (try? provider.process.signal(SIGTERM)) != nil else { return }
        _ = await Self.end(of: provider.process, milliseconds: Self.graceMilliseconds)
    }

    /// Waits for a process off the tasks' threads.
    static func end(of process: ProcessDescriptor, milliseconds: Int32) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "end-of-provider").async {
                continuation.resume(returning: process.waitForEnd(milliseconds: milliseconds))
            }
        }
    }
}
