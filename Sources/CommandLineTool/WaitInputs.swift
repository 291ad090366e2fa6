import ControlAPI
import ControlClient
import Synchronization

/// What a command that waits hears: tunneld's events, its own alarms, the person's signal, in one stream.
enum WaitInput: Sendable {
    case event(SessionsCalls.Event)
    /// The connection to tunneld ended; it is sought again until it is found.
    case lost(ControlError)
    /// One of the alarms that were set, by its place among them.
    case alarm(Int)
    case interrupted
}

/// The stream of inputs of one wait; ends with its owner.
final class WaitInputs: Sendable {
    let stream: AsyncStream<WaitInput>
    private let tasks: [Task<Void, Never>]

    /// Connects and begins to listen.
    ///
    /// - Parameter alarms: from now.
    /// - Throws: where tunneld isn't there to begin with.
    init(_ context: CommandContext, identifier: String?, alarms: [Duration] = []) async throws {
        let (stream, continuation) = AsyncStream<WaitInput>.makeStream()
        self.stream = stream
        let daemon = context.daemon
        let events = try await daemon.monitor(identifier)
        let start = ContinuousClock.now
        var tasks = [
            Task { await Self.follow(events, of: identifier, daemon, continuation) }
        ]
        for (index, alarm) in alarms.enumerated() {
            tasks.append(
                Task {
                    guard (try? await Task.sleep(until: start + alarm, clock: .continuous)) != nil else { return }
                    continuation.yield(.alarm(index))
                }
            )
        }
        let interruptions = context.interruptions()
        tasks.append(Task { for await _ in interruptions { continuation.yield(.interrupted) } })
        self.tasks = tasks
    }

    deinit { for task in tasks { task.cancel() } }

    /// Passes events on; where tunneld goes away, waits for it to come back.
    private static func follow(
        _ first: DaemonClient.Events,
        of identifier: String?,
        _ daemon: DaemonClient,
        _ continuation: AsyncStream<WaitInput>.Continuation
    ) async {
        var events: DaemonClient.Events? = first
        var pause = Duration.milliseconds(100)
        while !Task.isCancelled {
            if let present = events {
                var end = ControlError(.unavailable, "tunneld ended the stream of events.")
                do {
                    for try await event in present { continuation.yield(.event(event)) }
                } catch let error as ControlError {
                    end = error
                } catch {
                    return  // Cancelled: nobody waits any more.
                }
                if Task.isCancelled { return }
                continuation.yield(.lost(end))
                pause = .milliseconds(100)
            }
            guard (try? await Task.sleep(for: pause)) != nil else { return }
            events = try? await daemon.monitor(identifier)
            pause = min(pause * 2, .seconds(2))
        }
    }
}
