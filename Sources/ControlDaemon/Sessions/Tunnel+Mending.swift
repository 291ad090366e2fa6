import ControlAPI
import EventLoop
import Journal
import LinuxSystem
import NetworkTypes

/// Puts back what others take away of the network settings, until that has become a fight.
extension Tunnel {
    /// What is being put back, and what is still to be said of it.
    struct Mending: Sendable {
        var governor = MendGovernor()
        var isRunning = false
        /// Another look is to be taken, and whether something was just taken away.
        var isWanted = false
        var isFresh = false
        /// Takes another look when that may do something again.
        var later: Task<Void, Never>?
        /// What was put back and isn't in the log yet.
        var unsaid: [String] = []
        var isSaying = false
    }

    /// What is put back within this time is told in one line of the log.
    private static let burst = Interval.milliseconds(300)
    /// So many items are named.
    private static let namedItems = 4

    /// Looks whether something is missing, and puts it back.
    ///
    /// - Parameter isFresh: whether something was just taken away.
    func mend(isFresh: Bool) async {
        mending.isWanted = true
        mending.isFresh = mending.isFresh || isFresh
        guard !mending.isRunning else { return }
        mending.isRunning = true
        while mending.isWanted {
            mending.isWanted = false
            await mendOnce(isFresh: exchange(&mending.isFresh, with: false))
        }
        mending.isRunning = false
    }

    private func mendOnce(isFresh: Bool) async {
        // What we take away ourselves is not missing.
        await networkTurn?.value
        // Nor is what has gone with the tunnel around this one.
        if let live, await outerPassage() != live.outside.passage { await followWay(live.session) }
        guard keepsNetwork, let session = live?.session, let applied = live?.record.applied,
            let journal = live?.record.network
        else { return }
        let missing = await services.network.missing(of: applied, journal)
        guard keepsNetwork, live?.session == session else { return }
        guard !missing.isEmpty else { return whole(session) }
        // Looked at while it was being changed.
        guard live?.record.network == journal else { return mending.isWanted = true }
        let now = Instant.now()
        switch mending.governor.lossFound(isFresh: isFresh, now: now) {
        case .mend: await putBack(missing, of: session)
        case .wait(let until): look(at: until)
        case .rest(let until, let isNews):
            if isNews { rest(fought(missing), session) }
            look(at: until)
        }
    }

    private func putBack(_ missing: [String], of session: String) async {
        let begin = Instant.now()
        do {
            try await putInForce(nil, restoring: true)
            mending.governor.mended(from: begin, to: .now())
            mending.unsaid += missing
            saySoon()
            // What was taken away meanwhile, the kernel has told; but not what it took silently.
            mending.isWanted = true
        } catch {
            guard keepsNetwork, live?.session == session else { return }
            guard case .rest(let until, _) = mending.governor.failed(now: .now()) else { return }
            let error = error as? ControlError
            let why = [error?.message, error?.reason, error?.remedy].compactMap(\.self).joined(separator: " ")
            rest("\(Self.listed(missing).capitalizedFirst) can't be put back. \(why)", session)
            look(at: until)
        }
    }

    /// All is there again, by whomever.
    private func whole(_ session: String) {
        mending.governor.whole()
        if live?.mendProblem != nil {
            live?.mendProblem = nil
            log.notice("The network settings are whole again.")
        }
        take(.interfaceChanged(problem: nil), of: session)
    }

    private func rest(_ problem: String, _ session: String) {
        live?.mendProblem = problem
        log.error(problem)
        take(.interfaceChanged(problem: problem), of: session)
    }

    private func fought(_ missing: [String]) -> String {
        let governor = mending.governor
        let seconds = max(1, Int((Instant.now() - governor.since).inSeconds.rounded()))
        return
            "Somebody takes the tunnel's network settings away again and again (put back \(governor.count) times within "
            + "\(seconds) s), so \(Self.listed(missing)) stays away until that has been quiet for "
            + "\(Int(governor.restLength.inSeconds)) s. To see it happen: ip monitor link address route rule."
    }

    private func look(at instant: Instant) {
        mending.later?.cancel()
        mending.later = Task {
            guard (try? await Pause.sleep(for: instant - .now())) != nil else { return }
            await self.mend(isFresh: false)
        }
    }

    /// One line for all that is put back in a moment.
    private func saySoon() {
        guard !mending.isSaying else { return }
        mending.isSaying = true
        Task {
            try? await Pause.sleep(for: Self.burst)
            self.mending.isSaying = false
            let items = exchange(&self.mending.unsaid, with: [])
            self.log.warning("Put back what was removed from outside: \(Self.listed(items)).")
        }
    }

    /// "the routing rule 29995, the route to 10.0.0.0/8 and 3 more".
    private static func listed(_ items: [String]) -> String {
        var seen: Set<String> = []
        let different = items.filter { seen.insert($0).inserted }
        let named = different.prefix(namedItems).joined(separator: ", ")
        return different.count > namedItems ? "\(named) and \(different.count - namedItems) more" : named
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
