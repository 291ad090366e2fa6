import LinuxSystem
import VarlinkCore

/// The server's side of one client.
///
/// Belongs to the server's queue.
final class ServerConnection {
    enum Phase: Equatable {
        /// Waits for a call.
        case idle
        /// Answers one; the next begins when this has ended, so that answers come in the order of calls.
        case answering
        /// Sends what is queued, then closes; nothing is read any more.
        case closing
    }

    let caller: PeerCredentials
    let stream: MessageStream
    let outlet: ReplyOutlet
    var phase = Phase.idle
    /// The client won't send any more, or nothing more can be understood of what it sends; it may still read.
    var inputEnded = false
    /// Why nothing more can be understood.
    var inputFault: MessageError?
    /// The task of a call with `more`, to be cancelled when the client goes away.
    var streamTask: Task<Void, Never>?
    /// What the quota counts for this connection.
    var countedInput = 0
    var countedOutput = 0

    init(caller: PeerCredentials, stream: MessageStream, outlet: ReplyOutlet) {
        self.caller = caller
        self.stream = stream
        self.outlet = outlet
    }
}
