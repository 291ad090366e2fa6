import ControlAPI
import EventLoop
import Glibc
import Journal
import LinuxSystem
import NetworkTypes
import VarlinkCore
import VarlinkSocket

/// Finds out that a provider hangs: its process lives, and does nothing any more.
///
/// Nobody asks while there is nothing to do, for asking wakes it. Where packets wait (`WorkWatch`), or a call, it is asked
/// with Ping, which goes the whole way, through its packet loop. That is a second and twice `answerPatience` after the
/// first packet, or a call that may take long, and `statusPatience` and `answerPatience` after another one: within 3
/// seconds.
///
/// Whoever works on calls that came before the Ping can't answer it meanwhile, and isn't taken for hung: its answers go on
/// coming, or it takes the processor's time. That may be an endless loop too, so it gets no longer than a call does.
extension Tunnel {
    /// How long the answer to a Ping may take.
    static let answerPatience = Interval.milliseconds(700)
    /// How long a call that may take long waits before anybody asks.
    private static let callPause = Interval.seconds(1)
    /// So much of the processor's time within `answerPatience` shows that a provider works; one that hangs takes none.
    private static let sign = Interval.milliseconds(20)

    /// Watches for packets that wait at the descriptors which are held now; nothing while there is no provider to ask.
    func watchWork() {
        guard isReady, let live, live.connection != nil else { return endWorkWatch() }
        guard live.workWatch == nil else { return }
        let labels = [DescriptorLabel.tun, DescriptorLabel.udp4, DescriptorLabel.udp6]
        let descriptors = labels.compactMap { live.descriptors[$0] }
        do throws(SystemError) {
            self.live?.workWatch = try WorkWatch(descriptors, on: queue) { @Sendable [weak self] in
                self?.assumeIsolated { $0.workWaits() }
            }
        } catch {
            log.debug("Packets that wait can't be watched for, until the next change: \(error)")
        }
    }

    /// Has the descriptors that are held from now on watched.
    func watchWorkAnew() {
        endWorkWatch()
        watchWork()
    }

    func endWorkWatch() {
        live?.workWatch?.cancel()
        live?.workWatch = nil
    }

    private func workWaits() {
        guard let watch = live?.workWatch else { return }
        Task {
            // The machine's sleep may have taken the time of one answer, but not of two.
            await self.replaceIfHanging(pings: 2, for: "packets waited")
            watch.resume()
        }
    }

    /// Calls the running provider; where no answer comes in time, another takes the place of one that hangs.
    func ask<Result: Decodable & Sendable>(
        _ method: String,
        _ parameters: some Encodable & Sendable = NoParameters(),
        as type: Result.Type = NoParameters.self,
        timeout: Interval,
        over connection: ProviderConnection
    ) async throws -> Result {
        let watch = timeout > Self.statusPatience ? watchCall() : nil
        defer { if let watch { endCallWatch(watch) } }
        do {
            return try await connection.call(method, parameters, as: type, timeout: timeout)
        } catch let error as ControlError where error.name == .timedOut {
            Task { await self.replaceIfHanging(pings: 1, for: "a call waited") }
            throw error
        }
    }

    /// Looks now and then, while a call is open that may take long, whether the provider hangs.
    func watchCall() -> Task<Void, Never> {
        longCalls += 1
        return Task {
            while (try? await Pause.sleep(for: Self.callPause)) != nil {
                await self.replaceIfHanging(pings: 2, for: "a call waited")
            }
        }
    }

    func endCallWatch(_ watch: Task<Void, Never>) {
        watch.cancel()
        longCalls -= 1
    }

    /// Kills the provider where none of so many Pings in a row is answered.
    ///
    /// - Parameter work: what was left undone.
    private func replaceIfHanging(pings: Int, for work: String) async {
        guard isReady, let live, let connection = live.connection, let provider = live.provider else { return }
        let limit = Instant.now() + ProviderConnection.patience
        let calls = connection.calls
        let (owed, first) = (await calls.unanswered, await calls.answered)
        // A message has a connection of its own.
        let isCalled = owed > 0 || longCalls > 0
        var unanswered = 0
        while unanswered < pings {
            let (time, answered) = (provider.process.processorTime, await calls.answered)
            if await connection.answers(within: Self.answerPatience) || Task.isCancelled { return }
            let works = isCalled && provider.process.processorTime >= time + Self.sign
            // Answers come in the order of the calls, so those that are owed come before the Ping's.
            let answeredNow = await calls.answered
            let isBehind = answered - first < owed && answeredNow > answered
            if !isBehind, !works || Instant.now() >= limit { unanswered += 1 }
        }
        guard isReady, self.live?.provider?.identity == provider.identity, !provider.process.hasEnded else { return }
        let error = ControlError(
            .providerFailed,
            "The tunnel's provider hung.",
            reason: "Process \(provider.identity.pid) did nothing any more while \(work), and was killed.",
            remedy: "Its last words are in \(LogHint.tunneld)."
        )
        log.error("\(error.message) \(error.reason ?? "")")
        do { try provider.process.signal(SIGKILL) } catch {
            log.error("The provider, process \(provider.identity.pid), can't be killed: \(error)")
        }
        take(.providerLost(error), of: live.session)
    }
}
