import Netlink

/// What taking back a tunnel's changes did.
package struct NetworkRevertReport: Hashable, Sendable {
    /// What was removed, in words: "route 10.0.0.0/8".
    package var removed: [String] = []
    /// How many of the journal's objects weren't there any more.
    package var alreadyGone = 0
    /// What is still there, and why; the journal still names it.
    package var failed: [String] = []

    package var isComplete: Bool { failed.isEmpty }
}

extension NetworkApplier {
    /// Takes back what the journal names and nothing else; works after a crash and may be called twice.
    ///
    /// Routes and rules go only where they carry our protocol number, addresses and the link only where index and name
    /// still belong together. The journal keeps what couldn't be removed.
    /// - Parameter removingLink: whether the interface goes too.
    package func revert(_ journal: inout NetworkJournal, removingLink: Bool = true) -> NetworkRevertReport {
        var report = NetworkRevertReport()
        // Names that only the tunnel's servers know are useless from here on, and so are the servers.
        if let dns = journal.dns {
            do throws(DNSUndoFailure) {
                if let removed = try dns.undo() { report.removed.append(removed) } else { report.alreadyGone += 1 }
                journal.dns = nil
            } catch {
                report.failed.append(error.description)
            }
        }
        // First the rules, so that no packet is led into a table that is half gone.
        journal.rules = takeBack(journal.rules.reversed(), &report) { ($0.delete, $0.words) }
        let link = journal.interface.flatMap { identity in
            (try? tables.link(index: identity.index)).flatMap { $0.name == identity.name ? $0 : nil }
        }
        journal.routes = takeBack(journal.routes.reversed(), &report) { ($0.delete, $0.words) }
        if let link {
            // An interface that isn't there takes its addresses with it.
            let own = journal.addresses.filter { $0.interface == link.index }
            journal.addresses = takeBack(own.reversed(), &report) { ($0.delete, "address \($0.prefix)") }
        } else {
            report.alreadyGone += journal.addresses.count
            journal.addresses = []
        }
        // These stay when the link goes.
        journal.labels = takeBack(journal.labels.reversed(), &report) { ($0.delete, "label of \($0.address)") }
        guard removingLink, journal.interface != nil else { return report }
        if link == nil { report.alreadyGone += 1 }
        let left = takeBack(link.map { [$0] } ?? [], &report) { (Link.delete(index: $0.index), "interface \($0.name)") }
        if left.isEmpty { journal.interface = nil }
        return report
    }

    /// Removes objects; what isn't there any more is as good as removed.
    ///
    /// - Returns: what is still there.
    func takeBack<Object>(
        _ objects: [Object],
        _ report: inout NetworkRevertReport,
        _ removal: (Object) -> (request: NetlinkRequest, text: String)
    ) -> [Object] {
        guard !objects.isEmpty else { return [] }
        let removals = objects.map(removal)
        let results: [NetlinkError?]
        do throws(NetlinkError) {
            results = try tables.socket.batch(removals.map(\.request))
        } catch {
            report.failed.append("\(removals.map(\.text).joined(separator: ", ")): \(error)")
            return objects
        }
        var left: [Object] = []
        for (index, result) in results.enumerated() {
            switch result {
            case nil: report.removed.append(removals[index].text)
            case let error? where error.meansAbsent: report.alreadyGone += 1
            case let error?:
                report.failed.append("\(removals[index].text): \(error)")
                left.append(objects[index])
            }
        }
        return left
    }
}
