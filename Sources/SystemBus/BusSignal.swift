/// Something that was announced on the bus.
package struct BusSignal: Equatable, Sendable {
    package enum Argument: Equatable, Sendable {
        case string(String)
        case boolean(Bool)
    }

    /// The unique name of whoever sent it: a signal may be sent to us by anybody, whatever we subscribed to.
    package let sender: String
    package let path: String
    package let interface: String
    package let member: String
    /// Those at the beginning, as far as they are strings and booleans.
    package let arguments: [Argument]
}

/// What a subscription has to tell.
package enum BusNews: Equatable, Sendable {
    /// The subscription stands; what happened before it did was not told.
    case subscribed
    /// The bus is gone, or was never there.
    case lost(BusError)
    case signal(BusSignal)
}
