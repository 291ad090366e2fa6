import ControlAPI
import Journal
import NetworkTypes
import VarlinkCore
import VarlinkSocket

/// The machine's sleep.
extension Tunnel {
    /// How long a provider may take to get ready: longer than the machine waits for it.
    private static let sleepPatience = Interval.seconds(5)
    static let wentToSleep = "The machine went to sleep."

    /// The machine is about to sleep: stops the tunnel where its configuration says so, and else tells its provider.
    ///
    /// Returns once that is done, for the machine waits for it, but not for long: what is done later is done all the same.
    func prepareForSleep() async {
        guard let live, !isStopping else { return }
        guard !live.record.configuration.disconnectOnSleep else {
            stop(session: live.session, reason: Self.wentToSleep)
            return await idle()
        }
        // A start that waits can't go on meanwhile.
        excuseTimeLimit()
        guard isReady, let provider = live.provider else { return }
        do {
            // A connection of its own: what comes after the wake shall not wait behind it.
            let connection = try await ProviderConnection.connect(to: provider, patience: Self.sleepPatience)
            let result: Result<NoParameters, any Error>
            do {
                let sleep = "\(ProviderCalls.interface).Sleep"
                result = .success(try await connection.call(sleep, timeout: Self.sleepPatience))
            } catch {
                result = .failure(error)
            }
            await connection.close()
            _ = try result.get()
        } catch {
            log.debug("The provider can't be told that the machine sleeps, going on: \(error)")
        }
    }

    /// The machine woke up: the provider looks at once whether the other end is still there.
    func wake() async {
        guard isReady, let connection = live?.connection else { return }
        do {
            let _: NoParameters = try await ask("Wake", timeout: Self.statusPatience, over: connection)
        } catch let error as ControlError where error.name == .timedOut {
            log.debug("The provider doesn't answer after the wake: \(error)")
        } catch {
            // One that doesn't know the call knows this one, or needs neither.
            await pathChanged()
        }
    }
}
