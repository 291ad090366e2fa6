import ControlAPI
import HostNetwork
import Journal

/// What the block lets pass for this tunnel, and for how long it stands for it.
extension Tunnel {
    /// Puts in force what is known now; of a configuration with `includeAllNetworks` nothing leaves the machine from here on
    /// but what its tunnel needs.
    ///
    /// - Throws: where traffic can't be blocked; the tunnel must not go on then.
    func permitWhatIsKnown() async throws(ControlError) {
        guard let live else { throw Self.sessionEnded }
        let told = live.state?.peers.compactMap(\.endpoint) ?? []
        var member = BlockPolicy.member(
            live.record.configuration,
            interface: live.record.interface,
            port: live.record.listenPort,
            known: (live.record.settings?.endpoints ?? []) + told + live.lookedUp
        )
        if let stricter = live.stricter { member.tighten(to: stricter) }
        guard member != live.permitted else { return }
        self.live?.permitted = member
        do throws(ControlError) {
            try await services.block.set(identifier, to: member)
        } catch {
            if self.live?.session == live.session { self.live?.permitted = nil }
            throw error
        }
    }

    /// Has the block follow a change at once in what doesn't pass any more; what passes anew comes with the rest of it.
    func tighten(_ configuration: Configuration) async {
        guard live != nil else { return }
        live?.stricter = BlockPolicy.bare(configuration)
        await permitNews()
    }

    /// Lets pass what a configuration does whose turn has come, whether or not it could be put in force.
    func loosen(to configuration: Configuration) async {
        // A newer one may have come meanwhile, whose turn is next.
        if live?.stricter == BlockPolicy.bare(configuration) { live?.stricter = nil }
        await permitNews()
    }

    /// The same where a failure leaves the tunnel as it is: what was permitted before still is.
    func permitNews() async {
        guard !isStopping, live != nil else { return }
        do throws(ControlError) {
            try await permitWhatIsKnown()
        } catch {
            log.error("The block can't be changed, going on: \(error.message) \(error.reason ?? "")")
        }
    }

    /// Permits what a look-up found, before its answer is given.
    func permit(_ addresses: [String], of name: String) async {
        guard let configuration = live?.record.configuration else { return }
        live?.lookedUp.formUnion(BlockPolicy.endpoints(of: name, addresses, in: configuration))
        await permitNews()
    }

    /// Has the block be what it is to be while the tunnel is down; does nothing while there is a session.
    func carryOut(_ step: BlockStep) async {
        guard isIdle else { return }
        do throws(ControlError) {
            switch step {
            case .none: break
            case .release: try await services.block.release(identifier)
            case .hold(let configuration):
                try await services.block.set(identifier, to: BlockPolicy.bare(configuration))
            }
        } catch {
            log.error("\(error.message) \(error.reason ?? "") \(error.remedy ?? "")")
        }
    }

    /// Lifts the block as far as it stands for this tunnel, since somebody stopped it: at once, or at the end of the session
    /// that ends.
    func liftBlock(session: String?) async {
        if isStopping, session == nil || session == live?.session { isLiftAsked = true }
        guard session == nil else { return }
        if let known = await services.store.unremoved(identifier), BlockPolicy.isPersistent(known) {
            await carryOut(.hold(known))
        } else {
            await carryOut(.release)
        }
    }

    /// Decides at the end of a session whether the block stays.
    ///
    /// It does after a failure, through a sleep, and where the configuration was lost: nobody said that traffic may go round
    /// the tunnel now.
    func settleBlock(_ record: SessionRecord, isUnasked: Bool) async {
        let known = await services.store.unremoved(identifier, or: record.configuration)
        do throws(ControlError) {
            if let known, BlockPolicy.isPersistent(known) || isUnasked && !isLiftAsked && known.enabled,
                known.includeAllNetworks
            {
                try await services.block.set(identifier, to: BlockPolicy.bare(known))
            } else {
                try await services.block.release(identifier)
            }
        } catch {
            log.error("\(record.configuration.name): \(error.message) \(error.reason ?? "") \(error.remedy ?? "")")
        }
    }
}
