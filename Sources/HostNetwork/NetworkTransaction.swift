import Glibc
import Netlink

/// A change of one object in the kernel and the way back.
struct NetworkChange: Hashable, Sendable {
    /// Behind "Cannot …": "add the route 10.0.0.0/8 to wg0".
    let what: String
    let request: NetlinkRequest
    /// Nil where nothing is left to undo once the object is as it is.
    let undo: NetlinkRequest?
    /// Whether the object's absence is just what is wanted.
    var isRemoval = false
    /// The route that is added, so that a conflict can name the other one.
    var route: Route?
    /// The label that is added: where the kernel refuses it, all else goes on.
    var label: AddressLabel?
}

/// Changes that are all made or all taken back.
struct NetworkTransaction {
    private let socket: any NetlinkSocket
    private var undo: [NetlinkRequest] = []
    /// What can be done without, and was.
    private(set) var refusedLabels: [AddressLabel] = []

    init(socket: any NetlinkSocket) { self.socket = socket }

    /// Makes the changes, in batches.
    ///
    /// - Throws: the first that failed, with the reason. Those before and after it may have been made: `rollBack`.
    mutating func perform(_ changes: [NetworkChange]) throws(NetworkChangeFailure) {
        guard let first = changes.first else { return }
        let results: [NetlinkError?]
        do throws(NetlinkError) {
            results = try socket.batch(changes.map(\.request))
        } catch {
            // Some may have been made; undoing what was not made does no harm.
            undo += changes.compactMap(\.undo)
            throw NetworkChangeFailure(change: first, reason: error)
        }
        var failure: NetworkChangeFailure?
        for (change, error) in zip(changes, results) {
            if error != nil, let label = change.label {
                refusedLabels.append(label)
            } else if let error, !(change.isRemoval && error.meansAbsent) {
                failure = failure ?? NetworkChangeFailure(change: change, reason: error)
            } else if error == nil, let undo = change.undo {
                self.undo.append(undo)
            }
        }
        if let failure { throw failure }
    }

    /// Takes everything back, the last change first.
    ///
    /// - Returns: what could not be taken back.
    mutating func rollBack() -> [NetlinkError] {
        let requests = Array(undo.reversed())
        undo = []
        do throws(NetlinkError) {
            return try socket.batch(requests).compactMap { $0 }.filter { !$0.meansAbsent }
        } catch {
            return [error]
        }
    }
}

struct NetworkChangeFailure: Error, Hashable, Sendable, CustomStringConvertible {
    let change: NetworkChange
    let reason: NetlinkError

    var description: String { reason.description }
}

extension NetlinkError {
    /// Whether the kernel says that the thing to be deleted isn't there.
    var meansAbsent: Bool { [ESRCH, ENOENT, EADDRNOTAVAIL, ENODEV].contains(code) }
}
