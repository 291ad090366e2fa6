import ControlAPI
import ControlClient
import EventLoop
import LinuxSystem
import NetworkTypes

extension CommandContext {
    /// How long a running tunnel is waited for to take what was saved.
    private static let updatePatience = Interval.seconds(5)

    /// Why a tunnel that runs goes on with what it had; nil where none runs, or it took what was saved just now.
    func reasonNotInForce(_ saved: ConfigurationsCalls.SaveReply) async -> String? {
        let end = Instant.now() + Self.updatePatience
        while Instant.now() < end {
            guard let view = try? await daemon.status(saved.identifier).first, view.session != nil,
                view.generation < saved.generation, [.connecting, .connected, .reasserting].contains(view.status)
            else { return nil }
            if let notInForce = view.notInForce, notInForce.generation >= saved.generation {
                return notInForce.sentence
            }
            try? await Pause.sleep(for: .milliseconds(50))
        }
        return nil
    }
}
