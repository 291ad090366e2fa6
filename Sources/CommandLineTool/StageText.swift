import ControlAPI

/// How far a start has come, for a person.
enum StageText {
    static func of(_ stage: StartStage) -> String {
        switch stage {
        case .launching: "starting the provider"
        case .providerStarted: "provider started"
        case .settingsApplied: "settings applied"
        case .handshakeSent: "handshake sent"
        case .answered: "answered"
        }
    }
}
