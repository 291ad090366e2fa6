/// A peer, by the number that it got when it was added.
///
/// No number is given twice by a device, so what is under way for a peer that was removed can't reach a newer one.
package struct PeerIdentifier: Hashable, Comparable, Sendable {
    package let number: Int

    package init(_ number: Int) { self.number = number }

    package static func < (a: PeerIdentifier, b: PeerIdentifier) -> Bool { a.number < b.number }
}
