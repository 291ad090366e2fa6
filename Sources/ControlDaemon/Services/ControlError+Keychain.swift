import ControlAPI
import Keychain

extension ControlError {
    /// What the keychain says, to who asked for it.
    ///
    /// - Parameter what: what was asked for, as the object of "can't": "add vpn".
    init(_ error: KeychainError, _ what: String) {
        let name: Name
        var field: String?
        switch error {
        case .emptySecret, .secretTooLong, .malformedBundle, .identity: (name, field) = (.invalidParameter, "secret")
        case .notFound: name = .notFound
        case .damaged, .sealedUnderAnotherKey, .unreadable, .locked: name = .secretUnavailable
        case .system: name = .configurationReadWriteFailed
        }
        self.init(name, "Can't \(what).", reason: error.sentence, remedy: error.remedy, field: field)
    }

    /// No such item, or none that the caller may know of; what was asked for isn't shown, for it may be a secret.
    static func itemUnknown(_ what: String) -> ControlError {
        ControlError(
            .notFound,
            "Can't \(what): there is no such keychain item.",
            reason: "None of yours or of the system's is called so.",
            remedy: "tunnelctl keychain list shows those that there are."
        )
    }
}

extension KeychainError {
    /// The description as a sentence.
    var sentence: String { ControlError.sentence(description) }
}
