import Glibc
import LinuxSystem
import Netlink
import NetworkTypes
import Testing

@testable import HostNetwork

@Suite struct NetworkApplierTests {
    private let kernel = FakeKernel()
    private let wg0 = InterfaceIdentity(index: 7, name: "wg0")

    private var everything: TunnelNetworkSettings {
        TunnelNetworkSettings(
            interface: wg0,
            addresses: prefixes("10.7.0.2/24", "fd00:7::2/64"),
            routes: prefixes("0.0.0.0/0", "::/0", "10.9.0.0/16", "fd00:9::/48"),
            mtu: 1380
        )
    }

    private func apply(
        _ settings: TunnelNetworkSettings,
        _ journal: inout NetworkJournal,
        _ controls: FakeControls = FakeControls(),
        record: (NetworkJournal) throws -> Void = { _ in }
    ) throws(NetworkSettingsError) -> AppliedNetworkSettings {
        try NetworkApplier(socket: kernel, controls: controls).apply(settings, journal: &journal, record: record)
    }

    @Test func `a failure at any step undoes all of it`() throws {
        let before = kernel.tables
        // Change 0 only keeps link-local addresses away, and may fail.
        var steps = 1
        while true {
            kernel.fail(at: steps)
            var journal = NetworkJournal()
            var onDisk = journal
            do throws(NetworkSettingsError) {
                _ = try apply(everything, &journal) { onDisk = $0 }
                // A label can be done without.
                guard kernel.tables.labels.isEmpty else { break }
                _ = NetworkApplier(socket: kernel, controls: FakeControls()).revert(&journal, removingLink: false)
                onDisk = journal
                onDisk.interface = nil
                journal.interface = nil
                kernel.change { $0.links = before.links }
            } catch {
                #expect(error.code == .refused)
                #expect(error.what.hasPrefix("Cannot "))
                #expect(error.why?.contains("EINVAL") == true)
            }
            #expect(kernel.tables == before, "after a failure of change \(steps)")
            #expect(journal.isEmpty && onDisk.isEmpty)
            steps += 1
        }
        #expect(steps > 10)
    }

    @Test func `a crash at any step can be taken back from the journal on disk`() throws {
        let before = kernel.tables
        for steps in 0..<30 {
            kernel.die(at: steps)
            var journal = NetworkJournal()
            var onDisk = journal
            // Undoing fails as well, as it does when the process is gone.
            let isDone = (try? apply(everything, &journal) { onDisk = $0 }) != nil
            kernel.fail(at: nil)
            let report = NetworkApplier(socket: kernel, controls: FakeControls()).revert(&onDisk, removingLink: false)
            #expect(report.isComplete)
            var after = kernel.tables
            // The interface itself goes with the tunnel.
            after.links = before.links
            #expect(after == before, "after a crash before change \(steps)")
            if isDone { return }
            kernel.change { $0.links = before.links }
        }
        Issue.record("never finished")
    }

    @Test func `a second call changes nothing, a changed setting just that`() throws {
        var journal = NetworkJournal()
        _ = try apply(everything, &journal)
        let before = kernel.tables
        let count = kernel.changes
        _ = try apply(everything, &journal)
        #expect(kernel.changes == count)

        var settings = everything
        settings.routes.removeAll { $0.description == "10.9.0.0/16" }
        settings.routes += prefixes("10.10.0.0/16")
        settings.addresses += prefixes("10.7.0.3/24")
        _ = try apply(settings, &journal)
        #expect(kernel.changes == count + 3)
        let after = kernel.tables
        #expect(after.rules == before.rules)
        #expect(after.addresses.count == before.addresses.count + 1)
        #expect(
            Set(after.routes.map(\.route.destination)).subtracting(before.routes.map(\.route.destination))
                == Set(prefixes("10.10.0.0/16"))
        )
        _ = try apply(everything, &journal)
        #expect(kernel.tables == before)
    }

    @Test func `the first address of a network isn't exchanged where the others would go with it`() throws {
        var journal = NetworkJournal()
        _ = try apply(everything, &journal)
        let before = kernel.tables
        var settings = everything
        settings.addresses.removeAll { $0.description == "10.7.0.2/24" }
        settings.addresses += prefixes("10.7.0.3/24")
        let exchanged = settings
        #expect {
            _ = try apply(exchanged, &journal)
        } throws: { error in
            let error = error as? NetworkSettingsError
            return error?.code == .refused && error?.why?.contains("EROFS") == true
        }
        #expect(kernel.tables == before)
    }

    @Test func `what was deleted by others comes back with the next call`() throws {
        var journal = NetworkJournal()
        _ = try apply(everything, &journal)
        let before = kernel.tables
        kernel.change {
            $0.rules.removeFirst()
            $0.routes.removeLast()
            $0.addresses.removeFirst()
        }
        _ = try apply(everything, &journal)
        #expect(kernel.tables == before)
    }

    @Test func `an address that somebody else put on the interface stays`() throws {
        let foreign = InterfaceAddress(interface: 7, prefix: try #require(IPPrefix("10.99.0.1/32")))
        kernel.change { $0.addresses.insert(foreign) }
        var journal = NetworkJournal()
        _ = try apply(everything, &journal)
        _ = try apply(everything, &journal)
        #expect(kernel.tables.addresses.contains(foreign))
    }

    @Test func `a route that is taken is a conflict that names its owner`() throws {
        let prefix = try #require(IPPrefix("10.9.0.0/16"))
        kernel.change { $0.routes.append(KernelRoute(Route(to: prefix, interface: 2), owner: 4)) }
        let before = kernel.tables
        var journal = NetworkJournal()
        do throws(NetworkSettingsError) {
            _ = try apply(everything, &journal)
            Issue.record("took it over")
        } catch {
            #expect(error.code == .conflict)
            #expect(error.what == "Cannot add the route 10.9.0.0/16 to wg0.")
            #expect(error.why?.contains("interface eth0, made by the administrator (protocol static)") == true)
        }
        #expect(kernel.tables == before)
    }

    @Test func `a prefix that overlaps another link's network is noted`() throws {
        kernel.change {
            for text in ["192.168.1.0/24", "fe80::/64", "172.16.0.0/12"] {
                $0.routes += prefixes(text).map { KernelRoute(Route(to: $0, interface: 2), owner: 2) }
            }
        }
        var journal = NetworkJournal()
        let settings = TunnelNetworkSettings(
            interface: wg0,
            routes: prefixes("0.0.0.0/0", "::/0", "192.168.0.0/16", "10.0.0.0/8")
        )
        let notes = try apply(settings, &journal).notes
        #expect(notes.map(\.code) == [.overlap])
        #expect(notes.first?.text == "192.168.0.0/16 overlaps 192.168.1.0/24, the network of interface eth0.")
    }

    @Test func `another tunnel's route is named as such`() throws {
        kernel.change { $0.links[8] = FakeKernel.FakeLink(name: "wg1", mtu: 1500, isUp: false) }
        var first = NetworkJournal()
        _ = try apply(TunnelNetworkSettings(interface: wg0, routes: prefixes("10.9.0.0/16")), &first)
        var second = NetworkJournal()
        let other = TunnelNetworkSettings(
            interface: InterfaceIdentity(index: 8, name: "wg1"),
            routes: prefixes("10.9.0.0/16")
        )
        do throws(NetworkSettingsError) {
            _ = try apply(other, &second)
            Issue.record("took it over")
        } catch {
            #expect(error.why?.contains("interface wg0, another tunnel of tunneld") == true)
        }
    }

    @Test(arguments: [[0, 1], [1, 0]])
    func `of two full tunnels the later goes first, and each takes only its own away`(order: [Int]) throws {
        kernel.change { $0.links[8] = FakeKernel.FakeLink(name: "wg1", mtu: 1500, isUp: false) }
        let empty = kernel.tables
        let applier = NetworkApplier(socket: kernel, controls: FakeControls())
        var journals = [NetworkJournal(), NetworkJournal()]
        var alone: [FakeKernel.Tables] = []
        for (number, name) in ["wg0", "wg1"].enumerated() {
            let settings = TunnelNetworkSettings(
                interface: InterfaceIdentity(index: UInt32(7 + number), name: name),
                routes: prefixes("0.0.0.0/0", "::/0")
            )
            _ = try apply(settings, &journals[number])
            alone.append(kernel.tables)
        }
        let priorities = journals.map { Set($0.rules.map(\.priority)) }
        #expect(try #require(priorities[1].max()) < #require(priorities[0].min()))
        #expect(Set(journals[0].routes.map(\.table)).isDisjoint(with: journals[1].routes.map(\.table)))
        for number in order {
            _ = applier.revert(&journals[number])
            if number == 1, order[0] == 1 {
                #expect(kernel.tables.rules == alone[0].rules)
                #expect(kernel.tables.routes == alone[0].routes)
            }
        }
        #expect(kernel.tables.rules == empty.rules && kernel.tables.routes == empty.routes)
    }

    @Test func `an interface that got another name isn't touched`() throws {
        kernel.change { $0.links[7]?.name = "other" }
        let before = kernel.tables
        var journal = NetworkJournal(interface: wg0)
        do throws(NetworkSettingsError) {
            _ = try apply(everything, &journal)
            Issue.record("applied")
        } catch {
            #expect(error.code == .interfaceGone)
        }
        journal.addresses = [InterfaceAddress(interface: 7, prefix: .allIPv4)]
        let report = NetworkApplier(socket: kernel, controls: FakeControls()).revert(&journal)
        #expect(report.isComplete && journal.isEmpty)
        #expect(kernel.tables == before)
    }

    @Test func `without a journal nothing is changed`() throws {
        let before = kernel.tables
        var journal = NetworkJournal()
        do throws(NetworkSettingsError) {
            _ = try apply(everything, &journal) { _ in throw SystemError(ENOSPC, in: "write") }
            Issue.record("applied")
        } catch {
            #expect(error.code == .journalNotWritten)
            #expect(error.why?.contains("ENOSPC") == true)
        }
        #expect(kernel.tables == before)
    }

    @Test func `what can't be removed stays in the journal and is reported`() throws {
        var journal = NetworkJournal()
        _ = try apply(everything, &journal)
        let whole = journal
        kernel.fail(at: 0, with: EPERM)
        let applier = NetworkApplier(socket: kernel, controls: FakeControls())
        let report = applier.revert(&journal)
        #expect(report.failed.count == 1)
        #expect(journal.rules.count == 1)
        #expect(journal.rules.first == whole.rules.last)
        kernel.fail(at: nil)
        #expect(applier.revert(&journal).isComplete)
        #expect(journal.isEmpty)
    }
}
